import { type AlertMessage, type AlertNotice, cut, toLine, toOneLine } from "../message.ts";
import { toName } from "../rules.ts";

/** Where events are sent: https://developer.pagerduty.com/docs/events-api-v2. Accounts in the EU have another host. */
export const pagerdutyUrl = "https://events.pagerduty.com/v2/enqueue";

/** A message is sent as one event for each alert, so few are in one. */
export const noticesPerPage = 5;

const summaryMax = 1024;
const dedupKeyMax = 255;
const fieldMax = 500;

/** One event for each alert. A test is triggered and resolved, so that no incident stays open. */
export function toPagerdutyEvents(message: AlertMessage, routingKey: string, source: string): object[] {
  return message.alerts.flatMap((alert) => {
    const event = toEvent(alert, routingKey, source);
    if (message.type !== "test") return [event];
    const resolved = { ...alert, status: "resolved", resolved_at: alert.started_at } as const;
    return [event, toEvent(resolved, routingKey, source)];
  });
}

function toEvent(alert: AlertNotice, routingKey: string, source: string): object {
  const { id, status, severity, rule, subject, link } = alert;
  const isFiring = status === "firing";
  return {
    routing_key: routingKey,
    event_action: isFiring ? "trigger" : "resolve",
    dedup_key: cut(id, dedupKeyMax),
    payload: {
      summary: cut(toOneLine(toLine(alert)), summaryMax),
      source,
      severity,
      timestamp: isFiring ? alert.started_at : (alert.resolved_at ?? alert.started_at),
      component: toName(subject.name) || subject.type,
      group: subject.type,
      class: rule,
      custom_details: { subject_id: cut(subject.id, fieldMax), started_at: alert.started_at },
    },
    ...(isFiring && { client: "modelgate" }),
    ...(isFiring && link !== null && { client_url: link }),
    ...(link !== null && { links: [{ href: link, text: "Open in the dashboard" }] }),
  };
}
