import { addChannel } from "../../../src/modules/alerts/channels.ts";
import { SecretBox } from "../../../src/providers/index.ts";
import type { InProcessGateway } from "../../support/in-process.ts";

interface Parts<Row> {
  session(status: number, row?: { body?: unknown; id?: () => string | Promise<string> }): Row;
  own(status: number, row: { body?: unknown; id?: () => string | Promise<string> }): Row;
  /** The row with another status for a member of the member's team who is no admin of it. */
  forTeam(row: Row, status: number): Row;
}

/** The routes of alerts, for the table of authorization. */
export function alertRows<Row>(
  { session, own, forTeam }: Parts<Row>,
  newChannel: () => Promise<string>,
): Record<string, Row> {
  return {
    "GET /dashboard/api/alerts": session(200),
    "PUT /dashboard/api/alerts/rules/:id": forTeam(
      session(200, { id: () => "budget", body: { enabled: true, threshold: "80" } }),
      403,
    ),
    "POST /dashboard/api/alerts/webhooks": forTeam(session(200, { body: { url: "https://hooks.example.com/a" } }), 403),
    "POST /dashboard/api/alerts/emails": forTeam(session(200), 403),
    "DELETE /dashboard/api/alerts/channels/:id": forTeam(own(200, { id: () => newChannel() }), 403),
    "POST /dashboard/api/alerts/channels/:id/test": forTeam(own(200, { id: () => newChannel() }), 403),
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
