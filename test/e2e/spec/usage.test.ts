import { beforeAll, describe, expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import type { CallRow } from "../../support/ledger-view.ts";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { endpoints } from "./asking.ts";

interface Figures {
  requests: number;
  prompt_tokens: number;
  completion_tokens: number;
  total_tokens: number;
  characters: number;
  images: number;
  audio_seconds: number;
  quota_tokens: number;
  charged_usd: string;
}
interface WireUsage {
  object: string;
  period: string;
  start_date: string;
  end_date: string;
  quota: { limit: number; used: number; remaining: number; resets_at: string };
  wallet: { balance_usd: string; held_usd: string };
  totals: Figures & { by_model: (Figures & { model: string })[] };
  data: (Figures & { start: string; end: string })[];
}

const shared = useSandboxGateway();
let cookie: string;
beforeAll(async () => {
  cookie = await ownerCookie(shared.gateway);
});

const ask = (query = "") => shared.gateway.ask(`/usage${query}`, { headers: { authorization: "", cookie } });
const read = async (query?: string) => {
  const response = await ask(query);
  expect(response.status).toBe(200);
  return (await response.json()) as WireUsage;
};

describe("GET /usage", () => {
  // The year 2024 began on a Monday.
  const periods: [period: string, end: string, buckets: number, first: string][] = [
    ["hourly", "2024-01-01", 24, "2024-01-01T01"],
    ["daily", "2024-12-31", 366, "2024-01-02T00"],
    ["weekly", "2024-12-31", 53, "2024-01-08T00"],
    ["monthly", "2024-12-31", 12, "2024-02-01T00"],
    ["yearly", "2024-12-31", 1, "2025-01-01T00"],
  ];
  test.each(periods)("tells %s usage from startDate to endDate", async (period, end, buckets, first) => {
    const usage = await read(`?startDate=2024-01-01&endDate=${end}&period=${period}`);
    expect(usage).toMatchObject({ object: "usage", period, start_date: "2024-01-01", end_date: end });
    expect(usage.data).toHaveLength(buckets);
    expect(usage.data[0]).toMatchObject({ start: "2024-01-01T00:00:00.000Z", end: `${first}:00:00.000Z`, requests: 0 });
    const starts = usage.data.slice(1).map(({ start }) => start);
    expect(starts).toEqual(usage.data.slice(0, -1).map(({ end }) => end));
  });

  test("needs none of its parameters: without them it tells the last 30 days by the day", async () => {
    const usage = await read();
    expect(usage.period).toBe("daily");
    expect(usage.data).toHaveLength(30);
    expect((await read("?endDate=2024-03-01")).start_date).toBe("2024-02-01");
    expect((await read("?period=yearly")).data.length).toBeGreaterThan(0);
  });

  const refused: [string, string][] = [
    ["?period=fortnightly", "period"],
    ["?startDate=2024-02-30", "startDate"],
    ["?startDate=01/02/2024", "startDate"],
    ["?endDate=tomorrow", "endDate"],
    ["?startDate=2024-01-02&endDate=2024-01-01", "endDate"],
  ];
  test.each(refused)("refuses %s, naming the parameter", async (query, param) => {
    await expectError(await ask(query), { status: 400, param });
  });

  test("counts a call of every endpoint as the ledger does, at once", async () => {
    const before = await read();
    const calls: CallRow[] = [];
    for (const { ask: askFor, models } of endpoints) {
      for (const isPremium of [false, true]) {
        const model = models.find(({ premium }) => premium === isPremium);
        if (model === undefined) continue;
        const response = await askFor(shared.gateway, model.id);
        await response.arrayBuffer();
        calls.push(shared.ledger.callOf(response));
      }
    }
    const { totals, quota, wallet } = await read();
    const sumOf = (column: "input_tokens" | "output_tokens" | "characters" | "images" | "audio_ms" | "quota_tokens") =>
      calls.reduce((sum, call) => sum + (call[column] ?? 0), 0);
    const charged = calls.reduce((sum, call) => sum + (call.charged_nanodollars ?? 0), 0);
    expect(totals.requests).toBe(calls.length);
    expect(totals).toMatchObject({
      prompt_tokens: sumOf("input_tokens"),
      completion_tokens: sumOf("output_tokens"),
      total_tokens: sumOf("input_tokens") + sumOf("output_tokens"),
      characters: sumOf("characters"),
      images: sumOf("images"),
      audio_seconds: sumOf("audio_ms") / 1000,
      quota_tokens: sumOf("quota_tokens"),
    });
    for (const figure of ["prompt_tokens", "completion_tokens", "characters", "images", "audio_seconds"] as const) {
      expect([figure, totals[figure] > before.totals[figure]]).toEqual([figure, true]);
    }
    expect(Math.round(Number(totals.charged_usd) * 1e9)).toBe(charged);
    expect(Math.round((Number(before.wallet.balance_usd) - Number(wallet.balance_usd)) * 1e9)).toBe(charged);
    expect(totals.by_model.map(({ model }) => model).sort()).toEqual(calls.map(({ model }) => model).sort());
    expect(quota.limit).toBe(1_000_000_000);
    expect(Date.parse(quota.resets_at)).toBeGreaterThan(Date.now());
  });
});
