import { createHash } from "node:crypto";

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
