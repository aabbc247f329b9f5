/**
 * The pages of a large gateway: `bun test/bench/large-store.ts` fills a store with ten million calls of a million accounts
 * (4 GB below the temporary folder), starts the gateway, which counts them for its statistics, and times everything that the
 * pages ask of all accounts, then verifies the ledger. `--calls 100000 --accounts 10000` makes it a first look; `--home DIR`
 * keeps the store, and finds it again, and `--no-verify` leaves out the ledger. A turn of the event loop is its time by the
 * clock without the wait for a core, and its CPU time, in which other work on the machine and its disk have no part.
 */
import { existsSync, mkdirSync } from "node:fs";
import { join, relative } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { parseArgs } from "node:util";
import { openStore } from "../../src/db/index.ts";
import { createUser } from "../../src/tenants/users.ts";
import { stallProbed, stallSince } from "../e2e/hostile/stall-probe.ts";
import { freePort } from "../support/free-port.ts";
import { sessionCookieOf } from "../support/session-cookie.ts";
import { fillStore, keyOfAccount } from "./fill-store.ts";
import { describeMachine } from "./machine.ts";
import { formatMachine } from "./print.ts";
import { readRssMb } from "./process-stats.ts";
import { Processes } from "./processes.ts";
import { gateEnv, gateRoot, startGate, startUpstream } from "./subjects.ts";
import { formatTable } from "./table.ts";

const timesAsked = 5;
const countPollMs = 1000;
const weekMs = 604_800_000;

const { values } = parseArgs({
  options: {
    calls: { type: "string", default: "10000000" },
    accounts: { type: "string", default: "1000000" },
    home: { type: "string" },
    "no-verify": { type: "boolean", default: false },
  },
});
const size = { calls: Number(values.calls), accounts: Number(values.accounts) };
const say = (line: string) => process.stderr.write(`${line}\n`);
const dayOf = (daysAgo: number) => new Date(Date.now() - daysAgo * 86_400_000).toISOString().slice(0, 10);

const month = `from=${dayOf(29)}&to=${dayOf(0)}`;
const week = `from=${dayOf(6)}&to=${dayOf(0)}&interval=hour`;
/** The first account is an owner's. */
const ownerId = "scale0000001";
const inTheMiddle = `scale${String(Math.ceil(size.accounts / 2)).padStart(7, "0")}`;

/** Every request of a page, by the page that makes it. */
const pages: readonly (readonly [page: string, path: string])[] = [
  ["Home", "/dashboard/api/admin/home"],
  ["Home, what needs attention", "/dashboard/api/admin/attention"],
  ["Overview", "/dashboard/api/me"],
  ["Overview, 30 days", `/v1/usage?startDate=${dayOf(29)}&endDate=${dayOf(0)}&period=daily`],
  ...["model", "plugin", "status", "account", "key"].map(
    (group) => [`Gateway, 30 days by ${group}`, `/dashboard/api/statistics?${month}&group_by=${group}`] as const,
  ),
  ["Gateway, 7 days by the hour, by model", `/dashboard/api/statistics?${week}&group_by=model`],
  ["Gateway, 7 days by the hour, by account", `/dashboard/api/statistics?${week}&group_by=account`],
  ["Usage of one account", `/dashboard/api/statistics?${month}&group_by=model&account=${inTheMiddle}`],
  ["Requests", "/dashboard/api/requests"],
  ["Requests of one account", `/dashboard/api/requests?account=${inTheMiddle}`],
  ["Requests that failed", "/dashboard/api/requests?status=failed"],
  ["Accounts", "/dashboard/api/admin/accounts"],
  ["Accounts, found by a part of the e-mail", "/dashboard/api/admin/accounts?search=scale0765"],
  ["Account", `/dashboard/api/admin/accounts/${inTheMiddle}`],
  ["Keys", "/dashboard/api/admin/api-keys"],
  ["Providers", "/v1/organization/providers?limit=100"],
];

/** Signs an owner in, to the first account, and returns the cookie. */
async function signInOwner(home: string): Promise<string> {
  const store = await openStore({ file: join(home, "modelgate.db") });
  try {
    const secret = await store.setting("session_secret", () => crypto.getRandomValues(new Uint8Array(32)).toHex());
    const now = Date.now();
    const at = new Date(now).toISOString();
    const token = crypto.randomUUID();
    await store.db.transaction().execute(async (db) => {
      const { userId: user_id } = await createUser(db, { accountId: ownerId, role: "owner", emailVerified: true }, now);
      const times = { expires_at: new Date(now + weekMs).toISOString(), created_at: at, updated_at: at };
      await db
        .insertInto("sessions")
        .values({ id: crypto.randomUUID(), token, user_id, ip_address: null, user_agent: null, ...times })
        .execute();
    });
    return sessionCookieOf(token, secret);
  } finally {
    await store.close();
  }
}

/** Waits until every call is in the sums of the statistics, and returns the seconds. */
async function waitUntilCounted(home: string): Promise<number> {
  const database = new DatabaseSync(join(home, "modelgate.db"), { readOnly: true });
  const begun = performance.now();
  for (;;) {
    const { seq, newest } = database
      .prepare("select (select seq from usage_progress) as seq, (select max(seq) from call_rows) as newest")
      .get() as { seq: number; newest: number };
    if (seq >= newest) break;
    await Bun.sleep(countPollMs);
  }
  database.close();
  return (performance.now() - begun) / 1000;
}

/** Verifies the ledger, and returns the seconds. */
async function verifyLedger(home: string, provider: string): Promise<number> {
  say("verifying");
  const verifyFrom = performance.now();
  const env = { ...process.env, ...gateEnv({ home, port: 0, provider: provider, key: keyOfAccount(1) }) };
  const verify = Bun.spawn([process.execPath, join(gateRoot, "src/main.ts"), "ledger", "verify"], {
    env,
    stdout: "pipe",
  });
  const said = await new Response(verify.stdout).text();
  if ((await verify.exited) !== 0) throw new Error(`ledger verify: ${said}`);
  return (performance.now() - verifyFrom) / 1000;
}

async function measure(processes: Processes): Promise<string> {
  const upstream = await startUpstream(processes);
  const home = values.home ?? join(processes.folder, "large");
  mkdirSync(home, { recursive: true });
  if (!existsSync(join(home, "modelgate.db"))) {
    say(`filling: ${size.accounts} accounts, ${size.calls} calls`);
    await fillStore(home, size);
  }
  const cookie = await signInOwner(home);
  const probePort = await freePort();
  const begun = performance.now();
  const gate = await startGate(processes, upstream, {
    home: relative(processes.folder, home),
    env: stallProbed(probePort),
  });
  const startMs = performance.now() - begun;
  say(`started after ${startMs.toFixed(0)} ms; counting`);
  const countedSeconds = await waitUntilCounted(home);
  const whileCounting = await stallSince(probePort);
  say(`counted after ${countedSeconds.toFixed(0)} s, longest turn ${whileCounting.stallMsMax.toFixed(0)} ms`);

  const rows: string[][] = [];
  for (const [page, path] of pages) {
    const ms: number[] = [];
    const turns: number[] = [];
    const cpu: number[] = [];
    for (let time = 0; time < timesAsked; time++) {
      await stallSince(probePort);
      const from = performance.now();
      const response = await fetch(gate.origin + path, { headers: { cookie } });
      const body = await response.text();
      ms.push(performance.now() - from);
      const { stallMsMax, cpuMsMax } = await stallSince(probePort);
      turns.push(stallMsMax);
      cpu.push(cpuMsMax);
      if (!response.ok) throw new Error(`${page}: ${path} answered ${response.status}: ${body.slice(0, 300)}`);
    }
    const [first = 0, ...later] = ms;
    rows.push([
      page,
      first.toFixed(0),
      Math.max(...later).toFixed(0),
      Math.max(...turns).toFixed(0),
      Math.max(...cpu).toFixed(0),
    ]);
    say(rows.at(-1)?.join(" | ") ?? "");
  }

  const verified = values["no-verify"]
    ? "not verified"
    : `verified in ${(await verifyLedger(home, upstream.origin)).toFixed(0)} s`;

  return [
    ...formatMachine(describeMachine()),
    `${size.accounts} accounts, ${size.calls} calls; ready after ${startMs.toFixed(0)} ms, counted after ${countedSeconds.toFixed(0)} s ` +
      `(longest turn of the event loop ${whileCounting.stallMsMax.toFixed(0)} ms), ${verified}, ` +
      `RSS ${readRssMb(gate.pid).toFixed(0)} MB`,
    "",
    ...formatTable(
      ["ms", "first", `most of ${timesAsked - 1} more`, "longest turn of the event loop", "of it CPU time"],
      rows,
      [0],
    ),
    "",
  ].join("\n");
}

const processes = new Processes();
try {
  process.stdout.write(await measure(processes));
} finally {
  await processes.endAll();
}
process.exit(0);
