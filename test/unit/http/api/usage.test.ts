import { describe, expect, test } from "bun:test";
import { expectError } from "../../../support/expect-error.ts";
import { insertUsage } from "../../../support/usage.ts";
import { dashboardHttp } from "../dashboard-http.ts";
import { goodKey } from "../support.ts";

describe("GET /usage", () => {
  test.each(["/api/v1/usage", "/v1/usage"])("at %s tells the last 30 days of the account, day by day", async (path) => {
    const { enter, clock } = await dashboardHttp();
    const ada = await enter("ada@example.org");
    const record = (await (await ada.get(path)).json()) as { data: { start: string; end: string; requests: number }[] };
    const today = new Date(clock.now()).toISOString().slice(0, 10);
    expect(record).toMatchObject({
      object: "usage",
      period: "daily",
      end_date: today,
      quota: { limit: 250_000, used: 1000, remaining: 248_500, resets_at: expect.any(String) },
      wallet: { balance_usd: "5", held_usd: "1" },
      totals: { requests: 0, total_tokens: 0, cost_usd: "0", by_model: [] },
    });
    expect(record.data).toHaveLength(30);
    expect(record.data.at(-1)).toMatchObject({ start: `${today}T00:00:00.000Z`, requests: 0 });
  });

  test("tells figures by model, of the account that is signed in alone", async () => {
    const { enter, store } = await dashboardHttp();
    const [ada, ben] = [await enter("ada@example.org"), await enter("ben@example.org")];
    const hour = Date.parse("2026-11-20T07:00:00Z") / 3_600_000;
    const figures = {
      requests: 2,
      failures: 1,
      input_tokens: 10,
      cache_read_tokens: 18,
      audio_cache_read_tokens: 4,
      cache_write_tokens: 8,
      cache_write_1h_tokens: 20,
      cache_write_12h_tokens: 30,
      audio_input_tokens: 0,
      audio_output_tokens: 0,
      image_output_tokens: 0,
      output_tokens: 5,
    };
    const units = {
      images: 1,
      input_images: 4,
      audio_ms: 1500,
      characters: 7,
      search_units: 8,
      web_searches: 9,
      pages: 10,
      seconds: 11,
    };
    const rest = { ...units, call_units: 0, quota_tokens: 3 };
    const money = { cost_nanodollars: 1_500_000, charged_nanodollars: 1_000_000 };
    await insertUsage(store, [{ accountId: ada.account.id, hour, model: "chat-1", ...figures, ...rest, ...money }]);
    const asked = "/v1/usage?startDate=2026-11-20&endDate=2026-11-20&period=hourly";
    const expected = {
      requests: 2,
      failures: 1,
      prompt_tokens: 90,
      completion_tokens: 5,
      total_tokens: 95,
      cached_tokens: 22,
      characters: 7,
      images: 1,
      input_images: 4,
      audio_seconds: 1.5,
      search_units: 8,
      web_searches: 9,
      pages: 10,
      seconds: 11,
      quota_tokens: 3,
      cost_usd: "0.0015",
      charged_usd: "0.001",
    };
    const { data, totals } = (await (await ada.get(asked)).json()) as { data: unknown[]; totals: unknown };
    expect(data[7]).toEqual({
      start: "2026-11-20T07:00:00.000Z",
      end: "2026-11-20T08:00:00.000Z",
      ...expected,
      by_model: [{ model: "chat-1", ...expected }],
    });
    expect(totals).toEqual({ ...expected, by_model: [{ model: "chat-1", ...expected }] });
    expect(await (await ben.get(asked)).json()).toMatchObject({ totals: { requests: 0, by_model: [] } });
  });

  test.each([
    ["period=fortnightly", "period"],
    ["period=Daily", "period"],
    ["startDate=yesterday", "startDate"],
    ["startDate=2026-11-31", "startDate"],
    ["startDate=2026-13-01", "startDate"],
    ["startDate=1969-12-31", "startDate"],
    ["endDate=2026-2-1", "endDate"],
    ["endDate=1", "endDate"],
    ["startDate=2026-11-21&endDate=2026-11-20", "endDate"],
    ["startDate=2026-01-01&endDate=2026-03-01&period=hourly", "startDate"],
    ["startDate=2020-01-01&endDate=2026-01-01", "startDate"],
  ])("of %s is 400 and names the parameter", async (query, param) => {
    const { enter } = await dashboardHttp();
    const ada = await enter("ada@example.org");
    const response = await ada.get(`/v1/usage?${query}`);
    expect([response.status, (await response.json()).error.param]).toEqual([400, param]);
  });

  test("takes a moment for its UTC day, and a start without an end", async () => {
    const { enter } = await dashboardHttp();
    const ada = await enter("ada@example.org");
    const tell = async (query: string) => (await ada.get(`/v1/usage?${query}`)).json();
    const asked = "startDate=2026-11-20T23:30:00-02:00&endDate=2026-11-21T01:00:00Z";
    expect(await tell(asked)).toMatchObject({ start_date: "2026-11-21", end_date: "2026-11-21" });
    expect(await tell("startDate=2100-01-01")).toMatchObject({ start_date: "2100-01-01", end_date: "2100-01-01" });
    expect(await tell("endDate=1970-01-03")).toMatchObject({ start_date: "1970-01-01", end_date: "1970-01-03" });
  });

  test("is no matter of API keys, and says so", async () => {
    const { send } = await dashboardHttp();
    const response = await send("/v1/usage", { headers: { authorization: `Bearer ${goodKey}` } });
    await expectError(response, { status: 401, code: "invalid_session", says: "not an API key" });
    expect(response.headers.get("www-authenticate")).toBeNull();
    await expectError(await send("/v1/usage"), { status: 401, code: "invalid_session" });
    await expectError(await send("/v1/usage", { headers: { cookie: "session=forged.AAAA" } }), { status: 401 });
  });
});
