import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../../src/contract/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import { type BillingFixture, createAdmission, createSettlement, dayMs, ledgerFixture, newYear } from "./fixture.ts";

async function draw({ ledger, clock }: Pick<BillingFixture, "ledger" | "clock">, tokens: number) {
  const admission = createAdmission({ premium: false, holdTokens: tokens, openedAt: clock.time });
  await ledger.admit(admission);
  await ledger.settle(createSettlement(admission.callId, { quotaTokens: tokens }));
}

const readQuotaState = async ({ ledger }: Pick<BillingFixture, "ledger">) =>
  ledger.readQuotaState(createAdmission().caller);

const engines = useEngines();

describe.each(engineNames)("%s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);

  describe("the daily quota", () => {
    test("gives its last token and refuses the next, saying the figures and when it resets", async () => {
      const fixture = await ledgerFixture(undefined, make);
      fixture.clock.time += 3_600_000;
      await draw(fixture, 99);
      const last = createAdmission({ premium: false, holdTokens: 10 });
      expect((await fixture.ledger.admit(last)).heldTokens).toBe(1);
      const error = (await errorOf(draw(fixture, 1))) as GatewayError;
      expect([error.code, error.status, error.retryAfterMs]).toEqual(["quota_exceeded", 403, dayMs - 3_600_000]);
      expect(error.message).toBe(
        "Daily token quota reached: 100 free tokens a day, 99 used and 1 held by running calls; it resets at 2026-01-02T00:00:00.000Z",
      );
    });

    test("begins anew at midnight UTC, to the millisecond", async () => {
      const fixture = await ledgerFixture(undefined, make);
      await draw(fixture, 100);
      fixture.clock.time = newYear + dayMs - 1;
      expect(await errorOf(draw(fixture, 1))).toBeDefined();
      fixture.clock.time += 1;
      expect(await readQuotaState(fixture)).toEqual({
        limitTokens: 100,
        usedTokens: 0,
        heldTokens: 0,
        resetsAt: newYear + 2 * dayMs,
      });
      await draw(fixture, 100);
    });

    test("of the day on which a call began pays for it, though it ends on the next", async () => {
      const fixture = await ledgerFixture(undefined, make);
      fixture.clock.time = newYear + dayMs - 1;
      const admission = createAdmission({ premium: false, holdTokens: 60, openedAt: fixture.clock.time });
      await fixture.ledger.admit(admission);
      fixture.clock.time += 2;
      expect((await readQuotaState(fixture)).heldTokens).toBe(0);
      await fixture.ledger.settle(createSettlement(admission.callId, { quotaTokens: 70 }));
      expect((await readQuotaState(fixture)).usedTokens).toBe(0);
      const days = await fixture.store.db.selectFrom("daily_quota_usage").select(["day", "used_tokens"]).execute();
      expect(days.map((row) => ({ ...row }))).toEqual([{ day: newYear / dayMs, used_tokens: 70 }]);
      expect((await verifyLedger(fixture.store)).differences).toEqual([]);
    });

    test.each([1, 2, 400])("is not minted by a clock that steps back %i days, also after a new start", async (days) => {
      const fixture = await ledgerFixture(undefined, make);
      await draw(fixture, 100);
      fixture.clock.time -= days * dayMs;
      expect(await errorOf(draw(fixture, 1))).toBeDefined();
      const again = { ...fixture, ledger: await make({ store: fixture.store, now: () => fixture.clock.time }) };
      expect(await errorOf(draw(again, 1))).toBeDefined();
      fixture.clock.time = newYear + dayMs;
      await draw(again, 100);
      expect((await verifyLedger(fixture.store)).differences).toEqual([]);
    });

    test.each([2, 400])(
      "counts what a clock drew that was %i days ahead once, and is whole on the days after",
      async (days) => {
        const fixture = await ledgerFixture(undefined, make);
        const restart = async () => {
          fixture.ledger = await make({ store: fixture.store, now: () => fixture.clock.time });
        };
        const usedTokens = async () => (await readQuotaState(fixture)).usedTokens;
        fixture.clock.time += days * dayMs;
        await draw(fixture, 30);
        fixture.clock.time = newYear;
        await draw(fixture, 10);
        expect(await usedTokens()).toBe(40);
        await restart();
        expect(await usedTokens()).toBe(40);
        await draw(fixture, 60);
        expect(await errorOf(draw(fixture, 1))).toBeDefined();
        for (const later of [1, 30]) {
          fixture.clock.time = newYear + later * dayMs;
          // Also of a process that has run since then.
          if (later === 30) await restart();
          // A day ahead is not a wrong clock: that day has begun, with what was drawn on it.
          const drawn = later === days - 1 ? 30 : 0;
          expect(await usedTokens()).toBe(drawn);
          await draw(fixture, 100 - drawn);
          expect(await errorOf(draw(fixture, 1))).toBeDefined();
        }
        expect((await verifyLedger(fixture.store)).differences).toEqual([]);
      },
    );

    test("shows what calls hold today, also while one holds quota of a day that a wrong clock named", async () => {
      const fixture = await ledgerFixture(undefined, make);
      fixture.clock.time += 400 * dayMs;
      await fixture.ledger.admit(createAdmission({ premium: false, holdTokens: 20, openedAt: fixture.clock.time }));
      fixture.clock.time = newYear;
      await fixture.ledger.admit(createAdmission({ premium: false, holdTokens: 10 }));
      expect((await readQuotaState(fixture)).heldTokens).toBe(10);
    });

    test("follows a change of its limit with the next call", async () => {
      const fixture = await ledgerFixture(undefined, make);
      await draw(fixture, 100);
      const more = createAdmission({ premium: false, freeTokensPerDay: 150, holdTokens: 100 });
      expect((await fixture.ledger.admit(more)).heldTokens).toBe(50);
      expect(
        await errorOf(fixture.ledger.admit(createAdmission({ premium: false, freeTokensPerDay: 0 }))),
      ).toBeDefined();
    });
  });
});
