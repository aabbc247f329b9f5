import { createContents } from "../../../src/db/index.ts";
import { sealContent } from "../../../src/modules/content-log/content-box.ts";
import { SecretBox } from "../../../src/providers/index.ts";
import type { InProcessGateway } from "../../support/in-process.ts";

interface Given {
  body?: unknown;
  id: () => string | Promise<string>;
}

interface Parts<Row> {
  row(statuses: Readonly<Record<string, number>>, given: Given): Row;
  session(status: number): Row;
  own(status: number, row: Given): Row;
  admin(status: number, row: Given): Row;
  forTeam(row: Row, status: number): Row;
}

/** The routes of the content log, for the table of authorization. */
export function contentRows<Row>(
  { row, session, own, admin, forTeam }: Parts<Row>,
  { newAccount, newContent }: Record<"newAccount" | "newContent", () => Promise<string>>,
): Record<string, Row> {
  const ofAccount = "/dashboard/api/admin/accounts/:id/content";
  return {
    "GET /dashboard/api/content": session(200),
    "DELETE /dashboard/api/content": forTeam(session(200), 403),
    "POST /dashboard/api/requests/:id/content": row(
      { others: 401, member: 200, "other member": 404, "team member": 403, viewer: 403, admin: 200, owner: 200 },
      { id: newContent },
    ),
    "DELETE /dashboard/api/requests/:id/content": forTeam(own(200, { id: newContent }), 403),
    [`GET ${ofAccount}`]: admin(200, { id: newAccount }),
    [`POST ${ofAccount}`]: admin(200, { id: newAccount, body: { on: true } }),
    [`DELETE ${ofAccount}`]: admin(200, { id: newAccount }),
  };
}

/** Adds the content of a request that there is. */
export async function addContent({ home, store }: InProcessGateway, accountId: string, id: string): Promise<string> {
  const box = new SecretBox({ home, secretsKey: undefined });
  const row = await sealContent({ box, store }, { id, accountId, at: Date.now() }, { request: [], answer: [] });
  await createContents(store).put(accountId, [row], 2 ** 20);
  return id;
}
