import type { Rule } from "./rules.ts";

/** How long a webhook or mail server may take. */
export const sendMsMax = 10_000;

/** The reason why a message was not accepted, without secrets. */
export class DeliveryError extends Error {
  override readonly name = "DeliveryError";
}

/** An alert in a message. */
export interface AlertNotice {
  readonly rule: Rule | "metric";
  readonly status: "firing" | "resolved";
  readonly text: string;
  /** ISO 8601. */
  readonly since: string;
}

/** Body of a webhook. Slack and those like it show `text`. */
export interface AlertMessage {
  /** Identifies the message; repeated sends use the same id. */
  readonly id: string;
  readonly type: "alert" | "test";
  readonly text: string;
  readonly alerts: readonly AlertNotice[];
}

/** Maximum number of alerts listed in one message; the others are only counted. */
const noticesMax = 50;

export function createMessage(notices: readonly AlertNotice[], publicUrl: string | undefined): AlertMessage {
  const shown = notices.slice(0, noticesMax);
  const lines = shown.map(({ status, text }) => (status === "resolved" ? `Resolved: ${text}` : text));
  const rest = notices.length - shown.length;
  if (rest > 0) lines.push(`and ${rest} more`);
  const place = publicUrl === undefined ? "" : ` at ${publicUrl}`;
  const text = lines.length === 1 ? `modelgate${place}: ${lines[0]}` : `modelgate${place}:\n• ${lines.join("\n• ")}`;
  return { id: createId(), type: "alert", text, alerts: shown };
}

export function createTestMessage(): AlertMessage {
  return { id: createId(), type: "test", text: "modelgate: this is a test message. Alerts are sent here.", alerts: [] };
}

/** The subject of an e-mail. */
export function toSubject({ type, alerts }: AlertMessage): string {
  if (type === "test") return "[modelgate] Test";
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
