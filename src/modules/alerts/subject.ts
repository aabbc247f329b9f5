import { createHash } from "node:crypto";
import type { Database } from "../../db/index.ts";

/** How bad a problem is: channels choose from which on they get messages. */
export const severities = ["info", "warning", "critical"] as const;
export type Severity = (typeof severities)[number];

/** The place of a severity in their order, as it is stored. */
export const toRank = (severity: Severity): number => severities.indexOf(severity);
export const toSeverity = (rank: number): Severity => severities[rank] ?? "critical";

/** Something that an alert is about. */
export interface AlertSubject {
  readonly type: Database["alerts"]["subject_type"];
  /** Id of the account or key; otherwise the name. */
  readonly id: string;
  readonly name: string;
}

/** A subject whose page may be that of an account. */
export interface OwnedSubject extends AlertSubject {
  /** The account that has it; absent where it belongs to none. */
  readonly accountId?: string | undefined;
}

const gatewaySubject = { type: "gateway", id: "gateway", name: "modelgate" } as const;

export { gatewaySubject };

/** Columns of a subject. */
export interface SubjectColumns {
  readonly subject_type: AlertSubject["type"];
  readonly subject_id: string;
  readonly subject_name: string;
}

export function toSubjectColumns({ type, id, name }: AlertSubject): SubjectColumns {
  return { subject_type: type, subject_id: id, subject_name: name };
}

export function readSubject({ subject_type: type, subject_id: id, subject_name: name }: SubjectColumns): AlertSubject {
  return { type, id, name };
}

interface AlertIdentity {
  readonly owner: string;
  readonly rule: string;
  /** The problem among those of the rule. */
  readonly subject: string;
}

/** Identifies an alert among those of now: there is one of a rule and a subject. */
export function toAlertKey({ owner, rule, subject }: AlertIdentity): string {
  return `${owner} ${rule} ${subject}`;
}

/** The id of an alert from when it begins to when it is over; where it comes again it has another. */
export function toEpisodeId(key: string, sinceAt: number): string {
  return `alert_${createHash("sha256").update(`${key} ${sinceAt}`).digest("hex").slice(0, 24)}`;
}
