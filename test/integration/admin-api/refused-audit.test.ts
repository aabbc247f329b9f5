import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { prepareOrganization } from "../../e2e/openapi/organization.ts";
import { makeAlertRow } from "../../support/alert-rows.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { openOf } from "../db/facts.ts";

let gateway: InProcessGateway;
let adminKey: string;
let managed: Record<string, string>;

beforeAll(async () => {
  gateway = await startInProcess({ env: {} });
  adminKey = (await createAdminKey(gateway.store, commandLine, { name: "test", scopes: ["all"] }, Date.now())).key;
  managed = await prepareOrganization(new URL(gateway.baseUrl).origin, adminKey);
  const { row, id } = makeAlertRow("alert-1", { since_at: 1, seen_at: 1 });
  await gateway.store.db.insertInto("alerts").values(row).execute();
  managed.alert_id = id;
  const { project_id: project, user_id: user, ended_user_id: other } = managed;
  for (const userId of [user, other])
    await send("POST", `/projects/${project}/users`, { user_id: userId, role: "member" });
  // An agent's call of a session, which is ended by the name of the example. It runs: what has ended is summed up in between.
  const names = { session: "a-session", agent: "a3f29c01d7e45b688" };
  const open = openOf("call-of-a-session", { accountId: project as string, keyId: managed.key_id as string, ...names });
  await gateway.store.writeLedger([open]);
  managed.session = names.session;
  managed.ended_catalogue_model_id = "openai:famA-4.1-nano";
  await send("POST", `/catalogue/models/${managed.ended_catalogue_model_id}`, { row: { priority: 5 } });
  await send("POST", "/catalogue/unlisted/groq", { terms: null });
  await send("POST", "/sandbox", { setting: "on" });
  await send("POST", `/projects/${project}/credits`, { usd: "1.00", note: "a slip", reference: "slip" });
  managed.credit = `credit:${project}:slip`;
});
afterAll(() => gateway.stop());

function send(method: string, path: string, body: unknown): Promise<{ status: number; text: string }> {
  return ask(method, `/v1/organization${path}`, body);
}

async function ask(method: string, path: string, body: unknown): Promise<{ status: number; text: string }> {
  const response = await fetch(gateway.baseUrl.replace("/api/v1", path), {
    method,
    headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  return { status: response.status, text: await response.text() };
}

/** What a gateway writes by itself, and the answers that repeated requests get. */
const ownTables = new Set(["nodes", "audit", "revisions", "idempotency_keys", "attempts"]);

/** The rows of all tables and the files of the operator, as text. */
async function readState(): Promise<Map<string, string>> {
  const { db } = gateway.store;
  const { rows } = await sql<{ name: string }>`select name from sqlite_master where type = 'table'`.execute(db);
  const texts = new Map<string, string>();
  for (const { name } of rows.filter((row) => !ownTables.has(row.name))) {
    const content = await sql`select * from ${sql.table(name)}`.execute(db);
    texts.set(
      name,
      JSON.stringify(content.rows, (_, value) => (typeof value === "bigint" ? String(value) : value)),
    );
  }
  for (const folder of ["catalogue", "plugins"].map((name) => join(gateway.home, name)).filter(existsSync)) {
    for (const file of readdirSync(folder)) texts.set(file, readFileSync(join(folder, file), "utf8"));
  }
  return texts;
}

interface Operation {
  readonly requestBody?: { content: Record<string, { example?: unknown }> };
}

/** The writes of the management API, with their example. A DELETE is of something of its own. */
async function listWrites(): Promise<{ method: string; path: string; body: unknown }[]> {
  const response = await fetch(new URL("/openapi.json", gateway.baseUrl));
  const { paths } = (await response.json()) as { paths: Record<string, Record<string, Operation>> };
  return Object.entries(paths).flatMap(([path, operations]) =>
    ["post", "put", "delete"].flatMap((method) => {
      const operation = operations[method];
      if (operation === undefined || !path.startsWith("/v1/organization")) return [];
      const example = operation.requestBody?.content["application/json"]?.example;
      const isRevocation = path.endsWith("/credentials/revoke");
      const own = path.endsWith("/reversals") ? { transaction_id: managed.credit } : undefined;
      const body = isRevocation ? { type: "api_key", id: managed.key_id } : (own ?? example);
      return [{ method: method.toUpperCase(), path, body }];
    }),
  );
}

function fillIn(method: string, path: string): string {
  const isShared = path.startsWith("/rate_limits/");
  const isOfGateway = /^\/(budgets|group_roles|markups|policies)\//.test(path);
  if (path.startsWith("/admin_api_keys/")) return path.replace("{key_id}", managed.admin_key_id as string);
  if (path.startsWith("/catalogue/unlisted/") && method === "DELETE") return "/catalogue/unlisted/groq";
  if (path.includes("{provider_key_id}")) {
    const key = managed[method === "DELETE" ? "ended_provider_key_id" : "provider_key_id"] as string;
    return path.replace("{provider_id}", managed.provider_id as string).replace("{provider_key_id}", key);
  }
  const prefix = isShared ? "shared_" : isOfGateway ? "gateway_" : "";
  return path.replace(/\{(\w+)\}/g, (_, name: string) => {
    const ended = method === "DELETE" ? managed[`ended_${prefix}${name}`] : undefined;
    return encodeURIComponent(ended ?? managed[`${prefix}${name}`] ?? name);
  });
}

/** Those that write nothing of the gateway's: a look-up, a test message, and the end of a call, of which none runs here. */
const without = new Set([
  "POST /v1/organization/credentials/lookup",
  "POST /v1/organization/reconciliations",
  "POST /v1/organization/alerts/channels/{channel_id}/test",
  "DELETE /v1/organization/live_calls/{call_id}",
]);

/** The writes of SCIM, which changes the people and groups that were there before: each answers in its own form. */
async function prepareScim(): Promise<{ method: string; path: string; body: unknown }[]> {
  const make = async (path: string, body: unknown) => {
    const { text } = await ask("POST", `/scim/v2${path}`, body);
    return (JSON.parse(text) as { id: string }).id;
  };
  const user = await make("/Users", { userName: "scim@example.com", displayName: "Ada" });
  const other = await make("/Users", { userName: "other@example.com" });
  const group = await make("/Groups", { displayName: "developers", members: [{ value: user }] });
  await send("POST", `/projects/${managed.project_id}/group_roles`, { group: "developers", role: "member" });
  const added = { Operations: [{ op: "add", path: "members", value: [{ value: other }] }] };
  const off = { Operations: [{ op: "replace", path: "active", value: "False" }] };
  return [
    { method: "POST", path: "/Users", body: { userName: "new@example.com" } },
    { method: "PUT", path: `/Users/${user}`, body: { displayName: "Ada L." } },
    { method: "PATCH", path: `/Users/${user}`, body: off },
    { method: "DELETE", path: `/Users/${user}`, body: undefined },
    { method: "POST", path: "/Groups", body: { displayName: "testers", members: [{ value: user }] } },
    { method: "PUT", path: `/Groups/${group}`, body: { displayName: "developers", members: [] } },
    { method: "PATCH", path: `/Groups/${group}`, body: added },
    { method: "DELETE", path: `/Groups/${group}`, body: undefined },
  ].map((write) => ({ ...write, path: `/scim/v2${write.path}` }));
}

test("a write of the management API or of SCIM changes nothing where its audit entry cannot be written", async () => {
  const managing = await listWrites();
  const writes = [...managing, ...(await prepareScim())];
  expect(managing.length).toBeGreaterThan(50);
  const { db } = gateway.store;
  await sql`create trigger refuse_audit before insert on audit begin select raise(abort, 'no entry'); end`.execute(db);
  const wrong: string[] = [];
  for (const { method, path, body } of writes) {
    const name = `${method} ${path}`;
    const before = await readState();
    const { status, text } = path.startsWith("/scim/")
      ? await ask(method, path, body)
      : await send(method, fillIn(method, path.replace("/v1/organization", "")), body);
    const after = await readState();
    const changed = [...new Set([...before.keys(), ...after.keys()])].filter(
      (table) => after.get(table) !== before.get(table),
    );
    if (without.has(name)) continue;
    if (changed.length > 0) wrong.push(`${name} changed ${changed.join(", ")}`);
    // SQLite takes the trigger for a constraint, which a new key tells as a conflict; the person has joined before.
    const isRefused =
      status === 500 || (status === 409 && /already exists with|belong to this team|already in the team/.test(text));
    if (!isRefused) wrong.push(`${name} answered ${status} ${text.slice(0, 150)}`);
  }
  expect(wrong).toEqual([]);
});
