import { describe, expect, test } from "bun:test";
import { statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { openStore, StoreError } from "../../../src/db/index.ts";
import { migrations } from "../../../src/db/migrations/index.ts";
import { temporaryFile, temporaryStore } from "./temporary-store.ts";

const tables =
  "accounts admin_keys alert_channels alert_history alert_messages alert_mutes alert_rules alert_turns alerts audit blobs budgets call_rows content_switches contents credentials daily_quota_usage directory_groups directory_members email_verifications ended_branches group_roles idempotency_keys imported invitations key_callers keys markups memberships metric_rules model_limits names nodes oauth_grants oauth_requests open_call_rows opening_balances payers policies price_changes prices provider_attempts provider_keys provider_outcomes providers refusals reroutes revisions role_limits route_resumes schema_versions service_accounts sessions settings sign_in_attempts spending stored_responses team_invitations transactions two_factors usage_progress usage_rows usage_tops users verifications vouchers wallet_rows";

function tablesOf(file: string): string {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database.prepare("select name from sqlite_master where type = 'table' order by name").all();
  database.close();
  return rows.map((row) => row.name).join(" ");
}

async function refusal(file: string): Promise<Error> {
  const error = await openStore({ file }).then(
    () => new Error("it was opened"),
    (thrown: Error) => thrown,
  );
  expect(error).toBeInstanceOf(StoreError);
  return error;
}

describe("openStore", () => {
  test("makes the whole schema in a new file, readable by its owner only", async () => {
    const file = temporaryFile();
    await temporaryStore(file);
    expect(tablesOf(file)).toBe(tables);
    expect(statSync(file).mode & 0o777).toBe(0o600);
  });

  test("opens a file a second time without another migration", async () => {
    const file = temporaryFile();
    const first = await temporaryStore(file, () => 1);
    await first.setting("secret", () => "kept");
    await first.close();
    const second = await temporaryStore(file, () => 2);
    const versions = await second.db.selectFrom("schema_versions").selectAll().execute();
    expect(versions.map((row) => ({ ...row }))).toMatchObject(
      migrations.map(({ version }) => ({ version, applied_at: 1 })),
    );
    expect(await second.setting("secret", () => "new")).toBe("kept");
  });

  test("closes twice without complaint", async () => {
    const store = await temporaryStore();
    await store.close();
    await store.close();
    expect(store.pollExternalChange()).toBe(false);
  });

  test("of four processes that open a new file at once, one migrates and all serve", async () => {
    const file = temporaryFile();
    const script = join(import.meta.dir, "open-once.ts");
    const children = Array.from({ length: 4 }, () => Bun.spawn([process.execPath, script, file], { stderr: "pipe" }));
    const errors = await Promise.all(children.map((child) => new Response(child.stderr).text()));
    expect(errors.join("")).toBe("");
    expect(await Promise.all(children.map((child) => child.exited))).toEqual([0, 0, 0, 0]);
    expect(tablesOf(file)).toBe(tables);
  });
});

describe("openStore refuses in one sentence", () => {
  test("a schema newer than it knows", async () => {
    const file = temporaryFile();
    const store = await temporaryStore(file);
    await store.db.insertInto("schema_versions").values({ version: 99, hash: "x", applied_at: 0 }).execute();
    await store.close();
    expect((await refusal(file)).message).toStartWith(
      `The database has schema version 99 and this modelgate knows up to ${migrations.at(-1)?.version}: `,
    );
  });

  test("a database of another program", async () => {
    const file = temporaryFile();
    const database = new DatabaseSync(file);
    database.exec("create table recipes (name text)");
    database.close();
    expect((await refusal(file)).message).toMatch(/has a table recipes and no schema_versions/);
    expect(tablesOf(file)).toBe("recipes");
  });

  test("a file that is not a database", async () => {
    const file = temporaryFile();
    writeFileSync(file, "This is a shopping list, not a database. ".repeat(200));
    expect((await refusal(file)).message).toBe(
      `Cannot open the database ${file}: file is not a database; restore a backup, or move the file away to begin with an empty database`,
    );
  });

  test("a file in a folder that does not exist", async () => {
    const file = join(dirname(temporaryFile()), "nowhere", "modelgate.db");
    expect((await refusal(file)).message).toStartWith(`Cannot open the database ${file}: ENOENT`);
  });
});
