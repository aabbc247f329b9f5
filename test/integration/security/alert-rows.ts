import { addChannel } from "../../../src/alerts/index.ts";
import { SecretBox } from "../../../src/providers/index.ts";
import type { InProcessGateway } from "../../support/in-process.ts";

interface Parts<Row> {
  session(status: number, row?: { body?: unknown; id?: () => string | Promise<string> }): Row;
  own(status: number, row: { body?: unknown; id?: () => string | Promise<string> }): Row;
  admin(status: number, row?: { body?: unknown; id?: () => string | Promise<string> }): Row;
  /** For owners alone. */
  owner(status: number, row?: { body?: unknown }): Row;
  /** The row with another status for a member of the member's team who is no admin of it. */
  forTeam(row: Row, status: number): Row;
}

/** The routes of alerts, for the table of authorization. */
export function alertRows<Row>(
  { session, own, admin, owner, forTeam }: Parts<Row>,
  newChannel: (owner: "member" | "gateway") => Promise<string>,
  newMetricRule: (rule: object) => Promise<string>,
): Record<string, Row> {
  const rule = {
    name: "errors",
    metric: "error_rate",
    scope: "gateway",
    comparison: "above",
    threshold: "5",
    minutes: 60,
  };
  return {
    "GET /dashboard/api/alerts": session(200),
    "PUT /dashboard/api/alerts/rules/:id": forTeam(
      session(200, { id: () => "budget", body: { enabled: true, threshold: "80" } }),
      403,
    ),
    "POST /dashboard/api/alerts/webhooks": forTeam(session(200, { body: { url: "https://hooks.example.com/a" } }), 403),
    "POST /dashboard/api/alerts/emails": forTeam(session(200), 403),
    "DELETE /dashboard/api/alerts/channels/:id": forTeam(own(200, { id: () => newChannel("member") }), 403),
    "POST /dashboard/api/alerts/channels/:id/test": forTeam(own(200, { id: () => newChannel("member") }), 403),
    "GET /dashboard/api/admin/alerts": admin(200),
    // No such alert is there.
    "POST /dashboard/api/admin/alerts/mute": admin(404, { body: { id: "disk_full", hours: 1 } }),
    "POST /dashboard/api/admin/alerts/metric-rules": admin(200, { body: rule }),
    "PUT /dashboard/api/admin/alerts/metric-rules/:id": admin(200, { id: () => newMetricRule(rule), body: rule }),
    "DELETE /dashboard/api/admin/alerts/metric-rules/:id": admin(200, { id: () => newMetricRule(rule) }),
    "PUT /dashboard/api/admin/alerts/rules/:id": admin(200, { id: () => "budget", body: { enabled: true } }),
    "POST /dashboard/api/admin/alerts/webhooks": admin(200, { body: { url: "https://hooks.example.com/a" } }),
    "POST /dashboard/api/admin/alerts/emails": admin(200, { body: { to: ["ops@example.com"] } }),
    "DELETE /dashboard/api/admin/alerts/channels/:id": admin(200, { id: () => newChannel("gateway") }),
    "POST /dashboard/api/admin/alerts/channels/:id/test": admin(200, { id: () => newChannel("gateway") }),
    "PUT /dashboard/api/admin/alerts/smtp": owner(200, {
      body: { host: "mail.example.com", port: 25, tls: false, from: "gateway@example.com" },
    }),
    "DELETE /dashboard/api/admin/alerts/smtp": owner(200),
  };
}

/** Adds a channel of the gateway or the member that leads nowhere, so that a test of it fails at once, in place of all others. */
export async function addDeadChannel(
  { store, home }: Pick<InProcessGateway, "store" | "home">,
  memberId: string,
  who: "member" | "gateway",
): Promise<string> {
  await store.db.deleteFrom("alert_channels").execute();
  const target = { url: "http://127.0.0.1:9/" };
  const owner = who === "member" ? memberId : who;
  const box = new SecretBox({ home, secretsKey: undefined });
  const channel = { owner, kind: "webhook", target, box, now: Date.now() } as const;
  return (await addChannel(store, channel)).id;
}
