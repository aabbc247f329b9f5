import { describe, expect, test } from "bun:test";
import {
  checkNode,
  checkShared,
  type NodeState,
  type ProviderState,
  type SharedState,
} from "../../../src/modules/alerts/rules.ts";

const now = Date.parse("2027-01-01T00:00:00Z");
const usd = 1_000_000_000;
const healthy: NodeState = { routes: [], providers: [], models: [] };
const sound: SharedState = { wallets: [], budgets: [], usage: { calls: 0, estimated: 0 } };
const all = {
  wallet_low: usd,
  budget: 50,
  provider_failing: 0,
  circuit_open: 0,
  model_retires: 30,
  usage_implausible: 0,
  usage_estimated: 10,
  ledger_difference: 0,
  disk_full: 90,
};
const atNode = (state: Partial<NodeState>, thresholds: object = all) =>
  checkNode({ ...healthy, ...state }, thresholds, now);
const shared = (state: Partial<SharedState>, thresholds: object = all) =>
  checkShared({ ...sound, ...state }, thresholds);
const wallet = (nanodollars: number) => [{ accountId: "acc_1", account: "ada@example.org", nanodollars }];
const budget = (spentNanodollars: number, budgetNanodollars = 10 * usd) => [
  {
    ...{ id: "bud_1", accountId: "acc_1", account: "x@y", subject: "key" as const, keyId: "k1", name: "bot" },
    ...{ period: "month" as const, budgetNanodollars, spentNanodollars },
  },
];
const route = (model: string, isOpen: boolean) => ({ plugin: "acme", model, isOpen });

describe("a rule finds", () => {
  test("nothing where all is well", () => {
    expect(atNode({})).toEqual([]);
    expect(shared({})).toEqual([]);
  });

  test("a wallet below its threshold, worse when it is empty", () => {
    expect(shared({ wallets: wallet(usd) })).toEqual([]);
    expect(shared({ wallets: wallet(usd - 1) })).toMatchObject([{ rule: "wallet_low", subject: "acc_1", level: 1 }]);
    expect(shared({ wallets: wallet(0) })).toMatchObject([{ level: 2 }]);
    expect(shared({ wallets: wallet(-5) })[0]?.text).toBe("ada@example.org: balance −$0.000000005, below $1.00");
  });

  test.each([
    [4.999, undefined],
    [5, 1],
    [7.999, 1],
    [8, 2],
    [10, 3],
    [12, 3],
  ])("a budget of 10 USD with %p spent at level %p", (spent, level) => {
    expect(shared({ budgets: budget(spent * usd) }).map((finding) => finding.level)).toEqual(level ? [level] : []);
  });

  test.each([
    ["end_user", "ada", "day", "The end user “ada” of x@y has spent 80 % of its budget of this day"],
    ["tag", "", "week", "Requests without tag of x@y has spent 80 % of its budget of this week"],
    ["account", "", "lifetime", "The account x@y has spent 80 % of its budget of its lifetime"],
  ] as const)("a budget of the subject %s “%s” for a %s", (subject, name, period, text) => {
    const [found] = shared({
      budgets: budget(8 * usd).map(({ keyId: _, ...one }) => {
        return { ...one, name, period, subject };
      }),
    });
    expect(found).toMatchObject({ rule: "budget", subject: `bud_1 acc_1 ${name}`, level: 2 });
    expect(found?.text).toStartWith(text);
  });

  test("a budget from the owner's own threshold only, and none of a budget of 0", () => {
    expect(shared({ budgets: budget(7 * usd) }, { budget: 80 })).toEqual([]);
    expect(shared({ budgets: budget(8 * usd) }, { budget: 80 })).toMatchObject([{ subject: "bud_1 acc_1 k1" }]);
    expect(shared({ budgets: budget(0, 0) })).toEqual([]);
  });

  test.each([
    ["a line of its own", "bot\n• Resolved: all is well", "bot • Resolved: all is well"],
    ["a mention", "<!channel> look", "!channel look"],
    ["a link with words of its own", "<https://evil.example|your bill>", "https://evil.example|your bill"],
    ["text that runs backwards", "bot\u202etob", "bot tob"],
    ["no end", "x".repeat(200), `${"x".repeat(80)}…`],
  ])("a spent budget of a key whose name is %s, which it has not in the message", (_, name, shown) => {
    const [found] = shared({ budgets: budget(10 * usd).map((one) => ({ ...one, name })) });
    expect(found?.text).toStartWith(`The API key “${shown}” (k1) has spent 100 %`);
  });

  test("a provider that reported more than a call can have", () => {
    const routes = [{ ...route("one", false), isImplausible: true }, route("two", false)];
    expect(atNode({ routes })).toMatchObject([{ rule: "usage_implausible", subject: "acme", level: 1 }]);
    expect(atNode({ routes }, {})).toEqual([]);
  });

  test("open circuits, one finding for each provider", () => {
    const routes = [route("a", true), route("b", true), route("c", false)];
    expect(atNode({ routes })).toEqual([
      {
        rule: "circuit_open",
        subject: "acme",
        about: { type: "provider", id: "acme", name: "acme" },
        level: 1,
        severity: "warning",
        text: "2 routes of provider acme paused after failures: a, b",
      },
    ]);
    expect(atNode({ routes: [route("a", false)] })).toEqual([]);
  });

  test("a provider that is failing or refuses its key, and one that refuses a part of its keys, without its words", () => {
    const lastFailure = { kind: "rate_limited", status: 429 };
    const find = (state: ProviderState["state"], unusable = 0) =>
      atNode({
        providers: [{ provider: "acme", state, reason: "3 of 4 failed", lastFailure, keys: { total: 2, unusable } }],
      });
    expect(["working", "degraded", "unknown"].map((state) => find(state as "working"))).toEqual([[], [], []]);
    expect(find("failing")).toEqual([
      {
        rule: "provider_failing",
        subject: "acme",
        about: { type: "provider", id: "acme", name: "acme" },
        level: 2,
        severity: "critical",
        text: "The provider acme is failing: 3 of 4 failed. Last error: rate limited (status 429).",
      },
    ]);
    expect(find("refused")).toMatchObject([{ level: 2 }]);
    expect(find("degraded", 1)).toMatchObject([{ level: 1, text: expect.stringContaining("1 of 2 API keys") }]);
  });

  test.each([
    ["2027-02-15", undefined],
    ["2027-01-31", 1],
    ["2027-01-01", 2],
    ["2026-12-20", undefined],
  ])("a model that retires on %s at level %p", (retiredOn, level) => {
    const found = atNode({ models: [{ id: "old", retiredOn, successor: "new" }] });
    expect(found.map((finding) => finding.level)).toEqual(level ? [level] : []);
    for (const { text } of found) expect(text).toContain("its successor is new");
  });

  test("a share of estimates above its threshold, once there are enough calls", () => {
    const find = (calls: number, estimated: number) => shared({ usage: { calls, estimated } });
    expect([find(19, 19), find(100, 10)]).toEqual([[], []]);
    expect(find(100, 11)).toMatchObject([{ rule: "usage_estimated" }]);
  });

  test("differences of the ledger, and a disk that is nearly full", () => {
    expect(shared({ ledger: { differences: 0 } })).toEqual([]);
    expect(shared({ ledger: { differences: 2, first: "Wallet of acc_1" } })[0]?.text).toBe(
      "The ledger's verification found 2 differences: Wallet of acc_1",
    );
    expect(atNode({ disk: { name: "host:/", usedShare: 0.89 } })).toEqual([]);
    expect(atNode({ disk: { name: "host:/", usedShare: 0.951 } })).toMatchObject([
      { text: "The disk of host:/ is 95 % full" },
    ]);
  });

  test("nothing that is switched off", () => {
    const bad = { routes: [route("a", true)], disk: { name: "x", usedShare: 1 } };
    expect(atNode(bad, {})).toEqual([]);
    expect(shared({ wallets: wallet(-1), budgets: budget(usd * 10), ledger: { differences: 1 } }, {})).toEqual([]);
  });
});
