import type { DigestPeriod } from "./digest-times.ts";
import type { Rule } from "./rules.ts";
import { type AlertSubject, gatewaySubject, type Severity } from "./subject.ts";

/** An alert in a message. */
export interface AlertNotice {
  /** The same when it fires, is repeated and is resolved. */
  readonly id: string;
  readonly rule: Rule | "metric";
  readonly status: "firing" | "resolved";
  readonly severity: Severity;
  readonly subject: AlertSubject;
  readonly text: string;
  /** Address of the dashboard's page about it; `null` without PUBLIC_URL. */
  readonly link: string | null;
  /** ISO 8601. */
  readonly started_at: string;
  /** ISO 8601; `null` while it is firing. */
  readonly resolved_at: string | null;
}

/** A digest in a message. */
export interface Digest {
  readonly period: DigestPeriod;
  /** ISO 8601. */
  readonly from: string;
  readonly until: string;
  readonly title: string;
  /** The channel that it was made for. */
  readonly channel: { readonly id: string; readonly name: string };
  readonly sections: readonly { readonly title: string; readonly lines: readonly string[] }[];
  /** Address of the dashboard; `null` without PUBLIC_URL. */
  readonly link: string | null;
}

/** Body of a webhook. Mattermost and others show `text`. */
export interface AlertMessage {
  /** Identifies the message; repeated sends use the same id. */
  readonly id: string;
  readonly type: "alert" | "digest" | "test";
  readonly text: string;
  readonly alerts: readonly AlertNotice[];
  /** The figures of a digest; absent in other messages. */
  readonly digest?: Digest;
}

/** Maximum number of alerts listed in one message; the others are only counted. */
const noticesMax = 50;

export function createMessage(notices: readonly AlertNotice[], publicUrl: string | undefined): AlertMessage {
  const shown = notices.slice(0, noticesMax);
  const lines = shown.map(toLine);
  const rest = notices.length - shown.length;
  if (rest > 0) lines.push(`and ${rest} more`);
  const place = publicUrl === undefined ? "" : ` at ${publicUrl}`;
  const text = lines.length === 1 ? `modelgate${place}: ${lines[0]}` : `modelgate${place}:\n• ${lines.join("\n• ")}`;
  return { id: createId(), type: "alert", text, alerts: shown };
}

/** The sentence of an alert, with its end. */
export function toLine({ status, text }: Pick<AlertNotice, "status" | "text">): string {
  return status === "resolved" ? `Resolved: ${text}` : text;
}

/** A message with an alert in the form of a real one. */
export function createTestMessage(publicUrl: string | undefined, now: number): AlertMessage {
  const text = "This is a test alert: alerts are sent here";
  const alert: AlertNotice = {
    id: `alert_test_${crypto.randomUUID().replaceAll("-", "").slice(0, 12)}`,
    rule: "metric",
    status: "firing",
    severity: "info",
    subject: gatewaySubject,
    text,
    link: publicUrl === undefined ? null : `${publicUrl}/admin/alerts`,
    started_at: new Date(now).toISOString(),
    resolved_at: null,
  };
  return { ...createMessage([alert], publicUrl), type: "test" };
}

/** The text of an e-mail: what the message says, with the links. */
export function toMailText({ text, alerts, digest }: AlertMessage): string {
  if (digest !== undefined) return digest.link === null ? text : `${text}\n\n${digest.link}`;
  const parts = alerts.map((alert) => {
    const facts = [`${alert.severity}, since ${alert.started_at}`];
    if (alert.resolved_at !== null) facts.push(`resolved at ${alert.resolved_at}`);
    return [toLine(alert), facts.join(", "), ...(alert.link === null ? [] : [alert.link]), `id: ${alert.id}`].join(
      "\n",
    );
  });
  const [first = "", ...lines] = text.split("\n");
  const rest = lines.at(-1)?.startsWith("• and ") ? [lines.at(-1)?.slice(2) ?? ""] : [];
  const head = lines.length === 0 ? [] : [first];
  return [...head, ...parts, ...rest].join("\n\n");
}

/** The subject of an e-mail. */
export function toSubject({ type, alerts, text }: AlertMessage): string {
  if (type === "test") return "[modelgate] Test";
  if (type === "digest") return `[modelgate] ${text.split("\n", 1)[0]}`;
  const [first] = alerts;
  if (alerts.length === 1 && first !== undefined) {
    const text = first.text.length > 100 ? `${first.text.slice(0, 99)}…` : first.text;
    return `[modelgate] ${first.status === "resolved" ? "Resolved: " : ""}${text}`;
  }
  const firing = alerts.filter(({ status }) => status === "firing").length;
  const parts = [firing > 0 && `${firing} alerts`, firing < alerts.length && `${alerts.length - firing} resolved`];
  return `[modelgate] ${parts.filter(Boolean).join(", ")}`;
}

function createId(): string {
  return `msg_${crypto.randomUUID().replaceAll("-", "")}`;
}

/** Cuts a text to so many characters, as services count them, at no half of one. */
export function cut(text: string, lengthMax: number): string {
  if (text.length <= lengthMax) return text;
  return `${text.slice(0, lengthMax - 1).replace(/[\uD800-\uDBFF]$/, "")}…`;
}

/** One line of what anybody may have chosen. */
export function toOneLine(text: string): string {
  return text.replaceAll(/[\s\p{C}]+/gu, " ").trim();
}

/** `Critical`, or `Resolved`. */
export function toHeading({ status, severity }: { readonly status: string; readonly severity: string }): string {
  const word = status === "resolved" ? "resolved" : severity;
  return `${word.charAt(0).toUpperCase()}${word.slice(1)}`;
}
