import { afterAll, expect, test } from "bun:test";
import { chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import pg from "pg";
import { openStore } from "../../../../src/db/index.ts";
import { ProcessLedger, verifyLedger } from "../../../../src/ledger/index.ts";
import { errorOf } from "../../../support/error-of.ts";
import { freePort } from "../../../support/free-port.ts";
import { newDatabase, queryPostgres, whyNoPostgres } from "../../../support/postgres.ts";
import { addAccount, createAdmission, createSettlement } from "../../ledger/fixture.ts";
import { postgresTest, until } from "./fixture.ts";

const pgbouncer = Bun.which("pgbouncer");
if (pgbouncer === null)
  console.warn("Poolers of PostgreSQL are not tested: there is no pgbouncer (Debian package pgbouncer)");
const poolerTest = test.skipIf(pgbouncer === null || whyNoPostgres !== undefined);

const ends: (() => Promise<void>)[] = [];
afterAll(async () => {
  for (const end of ends) await end();
});

/** A database behind PgBouncer; returns its URL there. */
async function startPooler(mode: "session" | "transaction"): Promise<string> {
  const { port: serverPort, pathname } = new URL(await newDatabase());
  const port = await freePort();
  const folder = mkdtempSync(join(tmpdir(), "modelgate-pgbouncer-"));
  const file = join(folder, "pgbouncer.ini");
  const settings = [
    "[databases]",
    `* = host=127.0.0.1 port=${serverPort} user=modelgate`,
    "[pgbouncer]",
    "listen_addr=127.0.0.1",
    `listen_port=${port}`,
    "unix_socket_dir=",
    "auth_type=any",
    `pool_mode=${mode}`,
    "default_pool_size=20",
  ];
  writeFileSync(file, settings.join("\n"));
  // It refuses to run as root, as PostgreSQL does.
  const isRoot = userInfo().uid === 0;
  const asUser = isRoot ? ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups"] : [];
  if (isRoot) {
    const line =
      readFileSync("/etc/passwd", "utf8")
        .split("\n")
        .find((each) => each.startsWith("postgres:")) ?? "";
    const [, , uid, gid] = line.split(":");
    for (const path of [folder, file]) chownSync(path, Number(uid), Number(gid));
  }
  const child = Bun.spawn([...asUser, pgbouncer as string, file], { stdout: "ignore", stderr: "ignore" });
  ends.push(async () => {
    child.kill("SIGKILL");
    await child.exited;
    rmSync(folder, { recursive: true, force: true });
  });
  const url = `postgres://modelgate@127.0.0.1:${port}${pathname}`;
  await until("the pooler answers", () => queryPostgres(url, "select 1").then(Boolean, () => false));
  return url;
}

poolerTest("a pooler of sessions serves as PostgreSQL itself does", async () => {
  const store = await openStore({ url: await startPooler("session"), timeoutMs: 10_000 });
  try {
    const ledger = new ProcessLedger({ store });
    await addAccount(store, "acc_1", 100);
    for (let count = 0; count < 3; count++) {
      const admission = createAdmission();
      await ledger.admit(admission);
      await ledger.settle(createSettlement(admission.callId));
    }
    expect(await verifyLedger(store)).toMatchObject({ ok: true, counts: { calls: 3, open: 0 } });
  } finally {
    await store.close();
  }
});

poolerTest("a pooler of transactions is refused at the start, with what to do", async () => {
  const error = await errorOf(openStore({ url: await startPooler("transaction"), timeoutMs: 10_000 }));
  expect(error.message).toBe(
    "Cannot use this database: DATABASE_URL leads to a pooler that pools transactions; name its address for session pooling, or PostgreSQL itself",
  );
});

postgresTest("a start that finds no free connection waits for one, and says so", async () => {
  const url = await newDatabase();
  await queryPostgres(url, "drop role if exists waiting");
  await queryPostgres(url, "create role waiting login superuser");
  const ofRole = url.replace("modelgate@", "waiting@");
  await queryPostgres(url, "alter role waiting nosuperuser connection limit 6");
  await queryPostgres(url, `alter database ${new URL(url).pathname.slice(1)} owner to waiting`);
  await queryPostgres(url, "alter schema public owner to waiting");
  const others = Array.from({ length: 6 }, () => new pg.Client({ connectionString: ofRole }));
  for (const client of others) await client.connect();
  const events: string[] = [];
  const opening = openStore({ url: ofRole, timeoutMs: 10_000, report: (event) => void events.push(event) });
  await until("it waits", () => events.length > 0);
  for (const client of others) await client.end();
  const store = await opening;
  expect([events, store.trouble?.()]).toEqual([["database_full_of_connections"], undefined]);
  await store.close();
});
