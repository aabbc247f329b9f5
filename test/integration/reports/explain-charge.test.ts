import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import fc from "fast-check";
import OpenAI from "openai";
import { builtIns } from "../../../plugins/index.ts";
import { commandLine } from "../../../src/audit/index.ts";
import {
  compilePrice,
  costNanodollars,
  type Meters,
  type Price,
  parseUsd,
  withMarkup,
} from "../../../src/contract/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { explainCharge, PriceBook, readRequest } from "../../../src/reports/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { fewMeters, markup, price } from "../../support/generated-prices.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { rounds } from "../../support/long.ts";
import { recordCalls } from "../../support/payers.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { makeBench } from "../cli/fixture.ts";
import { endOf, openOf } from "../db/facts.ts";
import { temporaryStore } from "../db/temporary-store.ts";

test("the lines of a stored charge come to the charge to the nanodollar, for any price, markup, tier and usage", async () => {
  const store = await temporaryStore();
  let calls = 0;
  await fc.assert(
    fc.asyncProperty(
      price,
      fc.option(price, { nil: undefined }),
      fewMeters,
      fc.record({ premium: fc.boolean(), markup }),
      async (own, ofTier, used, { premium, markup }) => {
        const { markupPercent: _, ...flex } = ofTier ?? {};
        const written: Price = ofTier === undefined ? own : { ...own, serviceTiers: { flex } };
        const compiledPrice = withMarkup(tryCompile(written), markup);
        const rates = ofTier === undefined ? compiledPrice : compiledPrice.serviceTiers?.flex;
        const cost = rates && costNanodollars(rates, used);
        fc.pre(cost !== undefined);
        calls += 1;
        const [id, model] = [`call-${calls}`, `model-${calls}`];
        const book = new PriceBook({ store, now: () => 5 });
        book.note([{ model: { id: model }, compiledPrice }]);
        await book.save();
        const open = openOf(id, {
          accountId: `account-${calls}`,
          model,
          premium,
          priceVersion: compiledPrice.version,
          markupBasisPoints: markup,
        });
        const detail = ofTier === undefined ? undefined : JSON.stringify({ tier: "flex" });
        const chargedNanodollars = premium ? (cost as number) : 0;
        await recordCalls(store, [
          open,
          endOf(open, { meters: used, costNanodollars: cost, chargedNanodollars, detail }),
        ]);
        const request = await readRequest(store, id, undefined);
        const charge = request && (await explainCharge(store, request));
        expect(charge?.chargedNanodollars).toBe(chargedNanodollars);
        const sum = charge?.lines.reduce((sum, { nanodollars }) => sum + BigInt(nanodollars), 0n);
        expect(sum).toBe(BigInt(chargedNanodollars));
      },
    ),
    { numRuns: rounds(60, 1500) },
  );
});

/** A price whose rates share no denominator below 2^53 is refused; such a price proves nothing about sums. */
function tryCompile(price: Price) {
  try {
    return compilePrice(price);
  } catch (error) {
    fc.pre(!(error instanceof RangeError));
    throw error;
  }
}

describe("the price of a model", () => {
  const priceOf = (usd: string) => compilePrice({ inputToken: { usd, per: 1_000_000 } });
  const usage: Meters = { inputToken: 1000 };

  test("is kept with the time of its changes, and is the same again where it comes back", async () => {
    const store = await temporaryStore();
    let now = 1_000_000;
    const book = new PriceBook({ store, now: () => now });
    const change = async (usd: string) => {
      now += 1_000_000;
      book.note([{ model: { id: "m" }, compiledPrice: priceOf(usd) }]);
      await book.save();
    };
    const explain = async (usd: string) => {
      const id = `call-${now}`;
      const open = openOf(id, { model: "m", openedAt: now + 10, priceVersion: priceOf(usd).version });
      const cost = costNanodollars(priceOf(usd), usage) as number;
      await recordCalls(store, [open, endOf(open, { meters: usage, costNanodollars: cost, chargedNanodollars: cost })]);
      return async () => {
        const request = await readRequest(store, id, undefined);
        const charge = request && (await explainCharge(store, request));
        return [charge?.price.changedAt, charge?.price.replacedAt];
      };
    };
    await change("1");
    const first = await explain("1");
    expect(await first()).toEqual([undefined, undefined]);
    await change("2");
    const second = await explain("2");
    // Another process notes the change a moment later, and a restart notes nothing.
    await store.db
      .insertInto("price_changes")
      .values({ model: "m", changed_at: now + 5, version: priceOf("2").version })
      .execute();
    const restarted = new PriceBook({ store, now: () => now + 7 });
    restarted.note([{ model: { id: "m" }, compiledPrice: priceOf("2") }]);
    await restarted.save();
    expect(await second()).toEqual([3_000_000, undefined]);
    await change("1");
    const third = await explain("1");
    expect([await first(), await second(), await third()]).toEqual([
      [undefined, 3_000_000],
      [3_000_000, 4_000_000],
      [4_000_000, undefined],
    ]);
    const rows = await store.db.selectFrom("price_changes").select("changed_at").execute();
    expect(rows.map(({ changed_at: at }) => at).sort()).toEqual([2_000_000, 3_000_000, 3_000_005, 4_000_000]);
  });

  test("waits for a database that takes no writes", async () => {
    const store = await temporaryStore();
    let isBroken = true;
    const db = new Proxy(store.db, {
      get(target, name) {
        if (name === "selectFrom" && isBroken) throw new Error("gone");
        const value = Reflect.get(target, name);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
    const book = new PriceBook({ store: { db, shared: store.shared }, now: () => 1 });
    book.note([{ model: { id: "m" }, compiledPrice: priceOf("1") }]);
    expect(await errorOf(book.save())).toMatchObject({ message: "gone" });
    isBroken = false;
    await book.save();
    expect(await store.db.selectFrom("prices").select("version").execute()).toHaveLength(1);
  });
});

interface Line {
  kind: string;
  meter: string | null;
  quantity: number | null;
  rate: { usd: string; per: number } | null;
  amount_usd: string;
}

describe("a charge over the gateway", () => {
  let gateway: InProcessGateway;
  let adminKey: { id: string; key: string };
  let ids: { before: string; after: string; free: string };
  const file = (usd: string) => ({
    models: [
      { id: "famA-4.1", price: { inputToken: { usd, per: 1_000_000 }, outputToken: { usd: "3.5", per: 1_000_000 } } },
    ],
  });

  beforeAll(async () => {
    gateway = await startInProcess({ env: { SANDBOX: "on" }, files: { "catalogue/openai.json": file("7") } });
    const scopes = ["usage:read", "catalogue:write"];
    adminKey = await createAdminKey(gateway.store, commandLine, { name: "prices", scopes }, Date.now());
    const client = new OpenAI({ apiKey: gateway.key, baseURL: gateway.baseUrl, maxRetries: 0 });
    const call = async (model: string) => {
      const messages = [{ role: "user" as const, content: "Why does this cost what it costs?" }];
      const { request_id: id } = await client.chat.completions.create({ model, messages }).withResponse();
      return id as string;
    };
    const before = await call("gpt-4.1");
    const changed = await fetch(`${gateway.baseUrl}/organization/catalogue`, {
      method: "PUT",
      headers: { authorization: `Bearer ${adminKey.key}`, "content-type": "application/json" },
      body: JSON.stringify({ revision: "*", files: { openai: file("9") } }),
    });
    expect(changed.status).toBe(200);
    ids = { before, after: await call("gpt-4.1"), free: await call("gpt-4.1-nano") };
  });
  afterAll(() => gateway.stop());

  const ask = async (path: string, headers: Record<string, string>) => {
    const response = await fetch(path, { headers });
    // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
    return (await response.json()) as any;
  };
  const byApi = (id: string) =>
    ask(`${gateway.baseUrl}/organization/requests/${id}`, { authorization: `Bearer ${adminKey.key}` });
  const sumOf = (lines: Line[]) => lines.reduce((sum, line) => sum + (parseUsd(line.amount_usd) as number), 0);

  test("is explained by the price of its time, also after the price has changed", async () => {
    const [before, after] = [await byApi(ids.before), await byApi(ids.after)];
    const rateOf = ({ charge }: { charge: { lines: Line[] } }) =>
      charge.lines.flatMap(({ meter, rate }) => (meter === "input_tokens" ? [rate] : []));
    expect([rateOf(before), rateOf(after)]).toEqual([[{ usd: "7", per: 1_000_000 }], [{ usd: "9", per: 1_000_000 }]]);
    for (const { charge, charged_usd: usd, usage } of [before, after]) {
      expect([sumOf(charge.lines), charge.total_usd]).toEqual([parseUsd(usd), usd]);
      const ofUsage = charge.lines.filter(({ kind }: Line) => kind === "usage");
      expect(Object.fromEntries(ofUsage.map(({ meter, quantity }: Line) => [meter, quantity]))).toEqual(usage);
    }
    const { changed_at: since } = after.charge.price;
    expect(since).toBeGreaterThan(0);
    expect([before.charge.price.changed_at, before.charge.price.replaced_at]).toEqual([null, since]);
    expect(after.charge.price).toEqual({ version: after.price_version, changed_at: since, replaced_at: null });
  });

  test("of a model that the free quota pays has its list price, and what the quota took of it", async () => {
    const { charge, charged_usd: usd, cost_usd: cost } = await byApi(ids.free);
    expect(usd).toBe("0");
    expect(sumOf(charge.lines)).toBe(0);
    expect(charge.lines.at(-1)).toMatchObject({ kind: "free_quota", meter: null, amount_usd: `-${cost}` });
  });

  test("is the same for the key that made the call, on the dashboard and on the command line, which say who changed the price to operators", async () => {
    const { charge } = await byApi(ids.after);
    const byKey = await ask(`${gateway.baseUrl}/key/requests/${ids.after}`, { authorization: `Bearer ${gateway.key}` });
    expect(byKey.charge).toEqual(charge);
    expect(JSON.stringify(byKey)).not.toContain(adminKey.id);
    const { origin } = new URL(gateway.baseUrl);
    const holder = (await gateway.app.accounts.find("test@example.org"))?.id as string;
    const viewer = (await gateway.app.accounts.create({ email: "viewer@example.org" })).id;
    const cookies = {
      member: await enterAs(gateway.store, { accountId: holder, role: "member" }, Date.now()),
      viewer: await enterAs(gateway.store, { accountId: viewer, role: "viewer" }, Date.now()),
    };
    const onPage = async (cookie: string) => await ask(`${origin}/dashboard/api/requests/${ids.after}`, { cookie });
    const [own, all] = [await onPage(cookies.member), await onPage(cookies.viewer)];
    expect([own.charge.lines, all.charge.lines]).toEqual([charge.lines, charge.lines]);
    expect([own.price_changed_by, all.price_changed_by]).toEqual([null, `admin-key:${adminKey.id}`]);
    const bench = makeBench({ env: { MODELGATE_HOME: gateway.home }, now: Date.now, plugins: builtIns });
    const shown = await bench.json<{ charge: { lines: Line[] }; price_changed_by: string }>(
      "request",
      "show",
      ids.after,
    );
    expect([shown.charge.lines, shown.price_changed_by]).toEqual([charge.lines, `admin-key:${adminKey.id}`]);
    const { stdout } = await bench.run("request", "show", ids.after);
    const [input] = charge.lines as [Line];
    expect(stdout).toContain(`${input.quantity} × 9 USD per 1000000 = ${input.amount_usd} USD`);
    bench.remove();
  });
});
