import { describe, expect, test } from "bun:test";
import { expectError } from "../../../support/expect-error.ts";
import { caller } from "../../kernel/support.ts";
import { helloPlugin, httpOf } from "../support.ts";

describe("GET /key", () => {
  test("tells limits, quota and balance of the calling key", async () => {
    const { ask } = httpOf();
    const response = await ask("key");
    expect(await response.json()).toEqual({
      object: "key",
      id: "key-1",
      account: "account-1",
      allowed_models: null,
      account_allowed_models: null,
      limits: {
        requests_per_minute: { limit: 60, used: 1, remaining: 59, resets_in_seconds: 1 },
        tokens_per_minute: { limit: 100_000, used: 1000, remaining: 99_000, resets_in_seconds: 0.6 },
        concurrent_calls: { limit: null, used: 1, remaining: null, resets_in_seconds: null },
        models: [],
      },
      quota: { limit: 250_000, used: 1000, held: 500, remaining: 248_500, resets_at: "2026-11-22T00:00:00.000Z" },
      budget: null,
      account_budget: null,
      budgets: [],
      wallet: {
        balance_usd: "5",
        held_usd: "1",
        available_usd: "4",
        limit_usd: "5",
        used_usd: "1",
        remaining_usd: "4",
        resets_at: null,
      },
    });
    expect(response.headers.get("x-ratelimit-remaining-tokens")).toBe("99000");
  });

  test("tells which models the key may use", async () => {
    const narrow = { ...caller, allowedModels: new Set(["chat-1"]), accountModels: new Set(["chat-2"]) };
    const accounts = { ...httpOf().deps.accounts, authenticate: () => narrow };
    const { ask } = httpOf([helloPlugin], { accounts });
    expect(await (await ask("key")).json()).toMatchObject({
      allowed_models: ["chat-1"],
      account_allowed_models: ["chat-2"],
    });
  });

  test("tells the budget of the month and the calls at once of a key that has them", async () => {
    const { ask, ledger } = httpOf();
    const usd = 1_000_000_000;
    const used = { spentNanodollars: 3.5 * usd, heldNanodollars: 2 * usd, resetsAt: Date.UTC(2026, 11, 1) };
    ledger.readLimitsUsage = async () => ({
      calls: { limit: 4, running: 3 },
      budgets: [
        {
          budget: { id: "bud_key-1", subject: "key", name: "key-1", limitNanodollars: 5 * usd, period: "month" },
          limitNanodollars: 5 * usd,
          ...used,
        },
      ],
    });
    expect(await (await ask("key")).json()).toMatchObject({
      limits: { concurrent_calls: { limit: 4, used: 3, remaining: 1, resets_in_seconds: null } },
      budget: {
        limit_usd: "5",
        used_usd: "3.5",
        held_usd: "2",
        remaining_usd: "0",
        resets_at: "2026-12-01T00:00:00.000Z",
      },
    });
  });

  test("never tells less than nothing", async () => {
    const { ask, ledger } = httpOf();
    ledger.readWalletState = async () => ({ balanceNanodollars: -2_500_000_000, heldNanodollars: 0 });
    ledger.readQuotaState = async () => ({ limitTokens: 10, usedTokens: 20, heldTokens: 0, resetsAt: 0 });
    expect(await (await ask("key")).json()).toMatchObject({
      quota: { remaining: 0 },
      wallet: { balance_usd: "-2.5", available_usd: "0" },
    });
  });

  test("answers a stranger with 401", async () => {
    await expectError(await httpOf().ask("key", { headers: { authorization: "" } }), { status: 401 });
  });
});

describe("health", () => {
  test("is told to anyone", async () => {
    const { ask } = httpOf();
    const response = await ask("/healthz", { headers: { authorization: "" } });
    expect([response.status, await response.json()]).toEqual([200, { status: "ok", version: "1.2.3" }]);
    expect(response.headers.get("x-request-id")).toBeTruthy();
  });

  test("is readiness when there is no trouble, and 503 with the sentences when there is", async () => {
    const http = httpOf();
    await http.deps.providers.load();
    const ready = await http.ask("/readyz");
    expect(ready.status).toBe(200);
    expect(await ready.json()).toMatchObject({ status: "ready", sandbox: false, models: 1, problems: [] });
    const other = httpOf([], { readinessProblems: async () => ["The disk is full"] });
    await other.deps.providers.load();
    const troubled = await other.ask("/readyz");
    expect(troubled.status).toBe(503);
    expect(await troubled.json()).toMatchObject({
      status: "unready",
      models: 0,
      problems: ["The disk is full"],
    });
  });
});
