import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parquetReadObjects } from "hyparquet";
import { sql } from "kysely";
import { Registry } from "prom-client";
import { type MeterName, type Meters, meterNames, meterTable } from "../../../src/contract/index.ts";
import { meters as dashboardMeters } from "../../../src/dashboard/features/models/meters.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { CallMetrics } from "../../../src/observability/metrics/call-metrics.ts";
import { type Bench, makeBench } from "../../integration/cli/fixture.ts";
import { createAdmission, createSettlement } from "../../integration/ledger/admissions.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { readScrape, sampleOf } from "../../support/prometheus-text.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { rollUp } from "../../support/usage.ts";
import { completionOf } from "../../unit/kernel/streams.ts";
import { chatModel, createPlugin, newCall, runOf } from "../../unit/kernel/support.ts";
import { readSection, tableRows } from "./pages.ts";

/** Another amount of each meter, of which no sum of some is that of others. */
const amounts = Object.fromEntries(meterNames.map((name, place) => [name, 1000 * 2 ** place])) as Required<Meters>;
const callId = "call_of_all_meters";
const openedAt = Date.now();
/** All meters but that of calls, which is shown as the number of requests. */
const usageMeters = meterNames.filter((name) => name !== "call");

type Row = Record<string, unknown>;
let gateway: InProcessGateway;
let cookie: string;
let key: string;
let bench: Bench;
const folder = mkdtempSync(join(tmpdir(), "modelgate-meters-"));

/** A gateway with one call in its ledger, which used every meter. */
beforeAll(async () => {
  gateway = await startInProcess({
    env: { SANDBOX: "off", ACME_API_KEY: "sk-upstream" },
    plugins: [createPlugin({ chat: async () => completionOf("Hello") }, { models: [chatModel] })],
  });
  const { accounts, ledger } = gateway.app;
  const { id: accountId } = await accounts.create({ email: "ada@example.org" });
  const made = await accounts.createKey({ accountId, name: "web" });
  key = made.key;
  cookie = await enterAs(gateway.store, { accountId, role: "member" }, Date.now());
  const admission = { callId, accountId, keyId: made.id, model: chatModel.id, premium: false, openedAt };
  await ledger.admit(createAdmission(admission));
  await ledger.settle(createSettlement(callId, { plugin: "acme", meters: amounts }));
  await rollUp(gateway.store);
  bench = makeBench({ env: { MODELGATE_HOME: gateway.home } });
});
afterAll(async () => {
  bench?.remove();
  await gateway?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const columnOf = (name: MeterName) => meterTable[name].column;
/** The amounts by column, as whoever shows all of them must. */
const byColumn = (names: readonly MeterName[]) =>
  Object.fromEntries(names.map((name) => [columnOf(name), amounts[name]]));
const sumOf = (kind: string) =>
  meterNames.filter((name) => meterTable[name].kind === kind).reduce((sum, name) => sum + amounts[name], 0);
/** The amounts of units by what usage calls them. */
const units = Object.fromEntries(
  usageMeters
    .filter((name) => meterTable[name].kind === "unit")
    .map((name) => [meterTable[name].metric[0], amounts[name] / meterTable[name].metric[1]]),
);

async function get(path: string, headers: Record<string, string>): Promise<Response> {
  const response = await fetch(new URL(path, gateway.baseUrl), { headers });
  expect(response.status).toBe(200);
  return response;
}

/** The row of the call in a CSV file. */
function rowOf(csv: string): Row {
  const [header = "", ...lines] = csv
    .replace(/^\uFEFF/, "")
    .trimEnd()
    .split(/\r?\n/);
  const line = lines.find((each) => each.includes(callId));
  const cells = line?.split(",").map((cell) => cell.replaceAll('"', "")) ?? [];
  return Object.fromEntries(
    header.split(",").map((name, place) => [name.replaceAll('"', ""), Number(cells[place] || Number.NaN)]),
  );
}

async function exportCalls(format: string): Promise<Uint8Array<ArrayBuffer>> {
  const target = join(folder, format);
  const { code, stdout, stderr } = await bench.run("export", "calls", target, "--format", format, "--json");
  expect([code, stderr]).toEqual([0, ""]);
  const { files } = JSON.parse(stdout) as { files: { name: string }[] };
  return Uint8Array.from(readFileSync(join(target, files[0]?.name as string)));
}

const toDay = (time: number) => new Date(time).toISOString().slice(0, 10);
const span = ["--from", toDay(openedAt), "--to", toDay(openedAt + 86_400_000)];
const ledgerExport = async (format: string) =>
  (await bench.run("ledger", "export", ...span, "--format", format)).stdout;

describe("every meter", () => {
  test("is a column of the ledger", async () => {
    expect(gateway.ledger.call(callId) as unknown as Row).toMatchObject(byColumn(meterNames));
  });

  test("is in `ledger export` as CSV and as JSON lines", async () => {
    expect(rowOf(await ledgerExport("csv"))).toMatchObject(byColumn(usageMeters));
    expect(JSON.parse(await ledgerExport("jsonl")).usage).toEqual(byColumn(usageMeters));
  });

  test("is in `export calls` as JSON lines and as Parquet", async () => {
    expect(JSON.parse(Buffer.from(await exportCalls("jsonl")).toString()).usage).toEqual(byColumn(usageMeters));
    const rows = await parquetReadObjects({ file: (await exportCalls("parquet")).buffer });
    const row = rows.find(({ id }) => id === callId) as Row;
    for (const name of usageMeters) expect([name, row[columnOf(name)]]).toEqual([name, BigInt(amounts[name])]);
  });

  test("is in the file of the dashboard's request log, and in the request that its dialog shows with words", async () => {
    expect(rowOf(await (await get("/dashboard/api/requests.csv", { cookie })).text())).toMatchObject(
      byColumn(usageMeters),
    );
    const detail = (await (await get(`/dashboard/api/requests/${callId}`, { cookie })).json()) as Row;
    expect(detail).toMatchObject(byColumn(usageMeters));
    expect(Object.keys(dashboardMeters)).toEqual([...meterNames]);
    for (const name of usageMeters) expect(dashboardMeters[name]).toMatchObject({ column: columnOf(name) });
  });

  test("is in the usage of people and of API keys: tokens as sums, units by their names", async () => {
    const { totals } = (await (await get("/v1/usage", { cookie })).json()) as { totals: Row };
    const prompt = { prompt_tokens: sumOf("prompt"), completion_tokens: sumOf("answer"), requests: 1 };
    expect(totals).toMatchObject({ ...prompt, ...units });
    const start = Math.floor(openedAt / 86_400_000) * 86_400;
    const page = await get(`/v1/key/usage?start_time=${start}`, { authorization: `Bearer ${key}` });
    const { data } = (await page.json()) as { data: { results: Row[] }[] };
    expect(data[0]?.results[0]).toMatchObject({
      input_tokens: sumOf("prompt"),
      output_tokens: sumOf("answer"),
      num_model_requests: 1,
      ...Object.fromEntries(Object.entries(units).map(([name, amount]) => [name, Math.round(amount)])),
    });
  });

  test("of tokens that were read from a cache is a part of the prompt, of audio as well, wherever usage is told", async () => {
    const cached = amounts.cacheReadToken + amounts.audioCacheReadToken;
    const { totals } = (await (await get("/v1/usage", { cookie })).json()) as { totals: Row };
    const statistics = (await (await get("/dashboard/api/statistics?group_by=key", { cookie })).json()) as {
      totals: Row;
    };
    for (const figures of [totals, statistics.totals]) expect(figures).toMatchObject({ cached_tokens: cached });
    expect(statistics.totals.cache_share).toBe(cached / sumOf("prompt"));
    const path = `/v1/key/usage?start_time=${Math.floor(openedAt / 86_400_000) * 86_400}`;
    const { data } = await (await get(path, { authorization: `Bearer ${key}` })).json();
    expect(data[0].results[0]).toMatchObject({ input_cached_tokens: cached });
  });

  test("is counted by a metric", async () => {
    const registry = new Registry();
    const metrics = new CallMetrics(registry, { now: () => 0, isPremium: () => false });
    const call = newCall();
    const run = runOf(call, { model: chatModel, compiledPrice: undefined, routes: [] });
    run.hold = {
      callId,
      heldNanodollars: 0,
      heldTokens: 0,
      availableNanodollars: 0,
      availableTokens: 0,
      limits: {} as never,
    };
    run.outcome = { ...run.outcome, meters: amounts, usageSource: "reported" };
    metrics.ended(call);
    const lines = readScrape(await registry.metrics());
    for (const name of meterNames) {
      const { kind, metric } = meterTable[name];
      const [label, divisor] = metric;
      const [family, labels] = kind === "unit" ? ["units_total", { unit: label }] : ["tokens_total", { type: label }];
      expect([name, sampleOf(lines, `modelgate_${family}`, labels)]).toEqual([name, amounts[name] / divisor]);
    }
  });

  test("is compared by `ledger verify`, which names the column that differs", async () => {
    expect((await verifyLedger(gateway.store)).differences).toEqual([]);
    for (const column of meterNames.map(columnOf)) {
      const add = (amount: number) =>
        sql`update usage_rows set ${sql.ref(column)} = coalesce(${sql.ref(column)}, 0) + ${sql.lit(amount)}
          where hours = 24 and kind = 'call' and account_id <> ''`.execute(gateway.store.db);
      await add(1);
      const { differences } = await verifyLedger(gateway.store);
      expect([column, differences.length > 0]).toEqual([column, true]);
      for (const difference of differences) expect(difference).toContain(`: ${column} is `);
      await add(-1);
    }
  });

  test("is shown under the names that docs/billing.md lists, or makes like those in its table", () => {
    const section = readSection("docs/billing.md", "### Where each unit is shown");
    const [columns = ""] = /`input_tokens`[^.]+/.exec(section) ?? [];
    expect([...columns.matchAll(/`(\w+)`/g)].map(([, column]) => column)).toEqual(meterNames.map(columnOf));
    const fieldOf = { prompt: "prompt_tokens", answer: "completion_tokens", unit: "" };
    const shown = meterNames.map((name) => {
      const { kind, metric, column } = meterTable[name];
      return [name, column, metric[0], name === "call" ? "requests" : fieldOf[kind] || metric[0]];
    });
    const rows = tableRows(section);
    const named = rows.map(([name]) => name);
    expect(rows).toEqual(shown.filter(([name]) => named.includes(name)));
    const withoutRow = meterNames.filter((name) => !named.includes(name));
    const likeThem = withoutRow.map((name) => {
      const { kind, column } = meterTable[name];
      const label = column.replace(/_tokens$/, "");
      return [name, column, label, fieldOf[kind] || label];
    });
    expect(likeThem).toEqual(shown.filter(([name]) => !named.includes(name)));
  });
});
