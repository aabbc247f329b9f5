import { expect, test } from "bun:test";
import { join } from "node:path";
import { whyNoPostgres } from "../../support/postgres.ts";

/** The suites that ask the store by its interface alone. Those of the ledger run there with and without Redis. */
const suites = [
  ...["blobs", "contents", "idempotency-keys", "setting", "stored-responses", "write-ledger"].map(
    (name) => `test/integration/db/${name}.test.ts`,
  ),
  ...[
    "rows",
    "wallet",
    "limits",
    "quota",
    "budget",
    "budget-periods",
    "limit-errors",
    "races",
    "hold-extension",
    "stream-race",
    "capability-race",
    "fallback-funds",
    "verify",
    "prune-calls",
  ].map((name) => `test/integration/ledger/${name}.test.ts`),
  ...["latest-calls", "requests", "statistics", "usage/read-usage", "usage/read-usage-rows"].map(
    (name) => `test/integration/reports/${name}.test.ts`,
  ),
  ...["account-admin", "admin-keys", "authenticate", "sessions", "vouchers"].map(
    (name) => `test/unit/accounts/${name}.test.ts`,
  ),
  ...["attempt-limit", "claims", "ended-keys", "invitations", "roles", "second-factor", "sign-in", "sign-up"].map(
    (name) => `test/integration/accounts/${name}.test.ts`,
  ),
  "test/integration/content-log/kept.test.ts",
  ...["alerts", "channels"].map((name) => `test/integration/alerts/${name}.test.ts`),
  ...["audit", "payments", "reversals", "team", "team-invitations"].map(
    (name) => `test/integration/dashboard-api/${name}.test.ts`,
  ),
  ...["previous-response", "stored-responses"].map((name) => `test/unit/http/api/${name}.test.ts`),
  ...["page-addresses", "page-mutants", "issuer-mutants"].map((name) => `test/integration/properties/${name}.test.ts`),
];

if (whyNoPostgres !== undefined) console.warn(`The suites over PostgreSQL are skipped: ${whyNoPostgres}`);

test.skipIf(whyNoPostgres !== undefined)(
  "what holds over SQLite holds over PostgreSQL",
  async () => {
    const child = Bun.spawn([process.execPath, "test", "--timeout=120000", ...suites.map((suite) => `./${suite}`)], {
      cwd: join(import.meta.dir, "../../.."),
      env: { ...process.env, MODELGATE_TEST_STORE: "postgres" },
      stdout: "pipe",
      stderr: "pipe",
    });
    const words = (await Promise.all([child.stdout, child.stderr].map((pipe) => new Response(pipe).text()))).join("");
    const failed = words.split("\n").filter((line) => line.startsWith("(fail)"));
    expect(failed).toEqual([]);
    expect(await child.exited, words).toBe(0);
    // So that the count of the run tells of these too.
    console.log(`Over PostgreSQL: ${/\d+ pass/.exec(words)?.[0]}`);
  },
  1_200_000,
);
