import { expect } from "bun:test";
import fc from "fast-check";
import type { AdmissionRequest, Budget, GatewayError, KeyLimits } from "../../../../src/contract/index.ts";
import { openStore, type Store } from "../../../../src/db/index.ts";
import { creditWallet, ProcessLedger, verifyLedger } from "../../../../src/ledger/index.ts";
import { isLong, rounds } from "../../../support/long.ts";
import { addPayers } from "../../../support/payers.ts";
import { node, postgresTest } from "../../db/postgres/fixture.ts";
import { addAccount, createAdmission, createSettlement, dayMs, newYear } from "../fixture.ts";

/**
 * The rule of holds stands twice: in memory over SQLite, where one process decides, and in a function of PostgreSQL, where several do.
 * Limits are not of it: a call that is refused counts as a concurrent one until it is. The same history is given to both, in steps of which each is one batch: ends first, as PostgreSQL has them, then holds and extensions.
 */
const amount = fc.oneof(fc.constant(0), fc.integer({ min: 1, max: 60 }), fc.integer({ min: 1, max: 400 }));
const period = fc.constantFrom("day", "week", "month");
const name = fc.constantFrom("a", "b");

const anyKey = fc.option(fc.record({ budgetNanodollars: amount, budgetPeriod: period }), { nil: undefined });
const anyBudget = fc.record({
  subject: fc.constantFrom("account", "key", "end_user", "tag", "session", "model"),
  name: fc.option(name, { nil: undefined }),
  limitNanodollars: amount,
  period: fc.constantFrom("day", "week", "month", "lifetime"),
  raise: fc.option(fc.record({ nanodollars: amount, days: fc.nat(3) }), { nil: undefined }),
});
const anyAccount = fc.record({
  wallet: fc.integer({ min: 0, max: 500 }),
  freeTokensPerDay: fc.nat(100),
  budget: fc.option(fc.record({ limitNanodollars: amount, period }), { nil: undefined }),
  keys: fc.tuple(anyKey, anyKey),
  budgets: fc.array(anyBudget, { maxLength: 3 }),
});

const anyHold = fc.record({
  /** A new call, or a larger hold of the running call at this place. */
  extends: fc.option(fc.nat(7), { nil: undefined, freq: 2 }),
  account: fc.nat(1),
  key: fc.nat(1),
  premium: fc.nat(3).map((number) => number > 0),
  hold: amount,
  leastPercent: fc.constantFrom(0, 50, 100),
  names: fc.record({ endUser: name, tag: name, session: name, model: name }, { requiredKeys: ["model"] }),
});
const anyEnd = fc.record({ call: fc.nat(7), isReleased: fc.boolean(), cost: fc.option(amount, { nil: undefined }) });
const anyStep = fc.record({
  laterMs: fc.oneof(fc.constant(0), fc.nat(dayMs), fc.nat(40 * dayMs)),
  credit: fc.option(fc.record({ account: fc.nat(1), nanodollars: fc.integer({ min: 1, max: 200 }) }), {
    nil: undefined,
  }),
  ends: fc.array(anyEnd, { maxLength: 4 }),
  holds: fc.array(anyHold, { minLength: 1, maxLength: 6 }),
});

interface Engine {
  readonly store: Store;
  readonly ledger: ProcessLedger;
}

/** What callers are told, in their order. */
async function toldBy<Answer>(answers: readonly Promise<Answer>[]): Promise<unknown[]> {
  return (await Promise.allSettled(answers)).map((answer) => {
    if (answer.status === "fulfilled") return answer.value;
    const { code, message, retryAfterMs } = answer.reason as GatewayError;
    return { code, message, retryAfterMs };
  });
}

/** Sums and open calls as they are written. */
async function written({ db }: Store, accountIds: readonly string[], budgetIds: readonly string[]) {
  const of = <Row>(rows: readonly Row[]) => rows.map((row) => JSON.stringify(row)).sort();
  const open = await db
    .selectFrom("open_calls")
    .select(["id", "hold_nanodollars", "hold_tokens", "quota_day", "session", "tag", "end_user"])
    .where("account_id", "in", accountIds)
    .execute();
  const read = (table: "wallets" | "daily_charges" | "daily_quota_usage" | "key_charges") =>
    db.selectFrom(table).selectAll().where("account_id", "in", accountIds).execute();
  const names = db
    .selectFrom("spending")
    .innerJoin("budgets", "budgets.no", "spending.subject_id")
    .select(["budgets.id", "spending.name", "day", "spent_nanodollars", "first_at", "last_at", "counted_day"])
    .where("budgets.id", "in", ["", ...budgetIds]);
  return {
    open: of(open),
    wallets: of(await read("wallets")),
    charges: of(await read("daily_charges")),
    quotas: of(await read("daily_quota_usage")),
    keys: of(await read("key_charges")),
    names: of(await names.execute()),
  };
}

postgresTest(
  "SQLite's process and PostgreSQL's function decide every history of holds, extensions and ends alike",
  async () => {
    const clock = { time: newYear };
    const now = () => clock.time;
    const stores = [await openStore({ file: ":memory:", now }), (await node(undefined, { now })).store];
    const engines = stores.map((store): Engine => ({ store, ledger: new ProcessLedger({ store, now }) }));
    let histories = 0;
    const onBoth = async <Result>(ask: (engine: Engine) => Promise<Result>, what: string): Promise<Result> => {
      const [embedded, shared] = await Promise.all(engines.map(ask));
      expect<unknown>(shared, what).toEqual(embedded);
      return embedded as Result;
    };
    const history = fc.tuple(
      fc.tuple(anyAccount, anyAccount),
      fc.array(anyStep, { minLength: 2, maxLength: rounds(10, 30) }),
    );
    await fc.assert(
      fc.asyncProperty(history, async ([accounts, steps]) => {
        histories += 1;
        clock.time = newYear;
        const accountIds = accounts.map((_, place) => `acc_${histories}_${place}`);
        const budgets = accounts.map((account, place) =>
          account.budgets.map(
            ({ name: named, raise, ...budget }, index): Budget => ({
              ...budget,
              period: budget.subject === "session" ? "session" : budget.period,
              id: `bud_${histories}_${place}_${index}`,
              ...(named !== undefined && budget.subject !== "account" && { name: named }),
              ...(raise && { raise: { nanodollars: raise.nanodollars, until: newYear + raise.days * dayMs } }),
            }),
          ),
        );
        const budgetIds = budgets.flat().map(({ id }) => id);
        for (const { store } of engines) {
          for (const [place, _] of accounts.entries())
            await addPayers(store, {
              [accountIds[place] as string]: [0, 1].map((key) => `key_${histories}_${place}_${key}`),
            });
          for (const [place, { wallet }] of accounts.entries())
            await addAccount(store, accountIds[place] as string, wallet);
        }
        const callerOf = (account: number, key: number): AdmissionRequest["caller"] => {
          const { freeTokensPerDay, keys, budget } = accounts[account] as (typeof accounts)[number];
          const own = budgets[account] as Budget[];
          return createAdmission({
            accountId: accountIds[account] as string,
            keyId: `key_${histories}_${account}_${key}`,
            freeTokensPerDay,
            keyLimits: keys[key] as KeyLimits | undefined,
            accountBudget: budget,
            budgets: own.length === 0 ? undefined : own,
          }).caller;
        };
        let running: AdmissionRequest[] = [];
        for (const [place, { laterMs, credit, ends, holds }] of steps.entries()) {
          clock.time += laterMs;
          if (credit !== undefined) {
            const accountId = accountIds[credit.account] as string;
            for (const { store } of engines) await creditWallet(store, { ...credit, accountId, note: "" });
          }
          const busy = new Set<string>();
          /** Each running call has a part in one thing of a step. */
          const take = (index: number) => {
            const admission = running[index % Math.max(1, running.length)];
            if (admission === undefined || busy.has(admission.callId)) return undefined;
            busy.add(admission.callId);
            return admission;
          };
          const settlements = ends.flatMap(({ call, isReleased, cost }) => {
            const admission = take(call);
            if (admission === undefined) return [];
            const tokens = Math.floor((cost ?? 0) / 4);
            return createSettlement(admission.callId, {
              ...(isReleased ? { outcome: "released", usageSource: "none", meters: {} } : { costNanodollars: cost }),
              quotaTokens: tokens,
            });
          });
          const wishes = holds.flatMap(({ extends: extended, account, key, premium, hold, leastPercent, names }) => {
            const least = Math.ceil((hold * leastPercent) / 100);
            const amounts = {
              holdNanodollars: hold,
              minNanodollars: least,
              holdTokens: Math.ceil(hold / 4),
              minTokens: Math.ceil(least / 4),
              limitTokens: 1,
            };
            if (extended === undefined) {
              const { callId, ...rest } = createAdmission({ premium, ...amounts, ...names, openedAt: clock.time });
              return { kind: "admit", admission: { ...rest, callId, caller: callerOf(account, key) } } as const;
            }
            const admission = take(extended);
            return admission === undefined ? [] : ({ kind: "extend", callId: admission.callId, ...amounts } as const);
          });
          // All in one turn of the event loop, which is one batch.
          const told = await onBoth(({ ledger }) => {
            const ending = settlements.map((settlement) => ledger.settle(settlement));
            const holding = wishes.map((wish) =>
              wish.kind === "extend" ? ledger.extend(wish) : ledger.admit(wish.admission),
            );
            return toldBy<unknown>([
              ...ending,
              ...holding.map((answer) =>
                answer.then(({ heldNanodollars, heldTokens }) => ({ heldNanodollars, heldTokens })),
              ),
            ]);
          }, `Answers of step ${place}`);
          const ended = new Set(settlements.map(({ callId }) => callId));
          running = running.filter(({ callId }) => !ended.has(callId));
          for (const [index, wish] of wishes.entries()) {
            const answer = told[settlements.length + index] as object;
            if (wish.kind === "admit" && "heldTokens" in answer) running.push(wish.admission);
          }
          // Extensions over SQLite are written with the next batch, for which nothing waits.
          for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
          await onBoth(({ store }) => written(store, accountIds, budgetIds), `Sums after step ${place}`);
          for (const account of [0, 1]) {
            for (const key of [0, 1]) {
              const caller = callerOf(account, key);
              await onBoth(
                async ({ ledger }) => ({
                  wallet: await ledger.readWalletState(caller.accountId),
                  quota: await ledger.readQuotaState(caller),
                  limits: await ledger.readLimitsUsage(caller),
                }),
                `Figures of key ${key} of account ${account} after step ${place}`,
              );
            }
          }
        }
        const rest = running.map(({ callId }) => createSettlement(callId, { costNanodollars: 1, quotaTokens: 1 }));
        await onBoth(({ ledger }) => toldBy(rest.map((settlement) => ledger.settle(settlement))), "Last ends");
        const sums = await onBoth(({ store }) => written(store, accountIds, budgetIds), "Last sums");
        expect(sums.open).toEqual([]);
      }),
      { numRuns: rounds(12, 3000), ...(!isLong && { seed: 26 }) },
    );
    for (const { store } of engines) expect((await verifyLedger(store)).differences).toEqual([]);
    await stores[0]?.close();
  },
);
