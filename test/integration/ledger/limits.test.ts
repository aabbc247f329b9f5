import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../../src/contract/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { isLong } from "../../support/long.ts";
import { engineNames, type MakeLedger, useEngines } from "./engines.ts";
import {
  type AdmissionFields,
  addAccount,
  type BillingFixture,
  createAdmission,
  createSettlement,
  ledgerFixture,
} from "./fixture.ts";

async function free(fixture: BillingFixture, fields: AdmissionFields = {}) {
  const admission = createAdmission({ premium: false, holdTokens: 0, ...fields });
  const hold = await fixture.ledger.admit(admission);
  await fixture.ledger.settle(createSettlement(admission.callId, { quotaTokens: 0, meters: {} }));
  return hold;
}

const engines = useEngines();

describe.each(engineNames)("%s engine", (name) => {
  const make: MakeLedger = (options) => engines[name](options);

  describe("requests per minute", () => {
    test("are counted without a hold, beyond the limit of concurrent calls, and leave no call behind", async () => {
      const fixture = await ledgerFixture(undefined, make);
      const limits = { requestsPerMinute: 3, concurrentCalls: 1, keyLimits: { concurrentCalls: 1 } };
      const running = createAdmission({ premium: false, holdTokens: 0, ...limits });
      await fixture.ledger.admit(running);
      expect((await fixture.ledger.countRequest("repeat_1", running.caller)).remainingRequests).toBe(1);
      expect((await fixture.ledger.countRequest("repeat_2", running.caller)).remainingRequests).toBe(0);
      const error = (await errorOf(fixture.ledger.countRequest("repeat_3", running.caller))) as GatewayError;
      expect(error.code).toBe("rate_limit_exceeded");
      expect((await fixture.ledger.readLimitsUsage(running.caller)).calls.running).toBe(1);
      await fixture.ledger.settle(createSettlement(running.callId, { quotaTokens: 0, meters: {} }));
      const calls = await fixture.store.db.selectFrom("calls").select("id").execute();
      expect(calls.map(({ id }) => id)).toEqual([running.callId]);
    });

    test("lets in the 600th request of a minute and refuses the 601st, saying when the next fits", async () => {
      const fixture = await ledgerFixture(undefined, make);
      const limit = { requestsPerMinute: 600 };
      for (let i = 1; i < 600; i++) await free(fixture, limit);
      expect((await free(fixture, limit)).limits).toMatchObject({
        limitRequests: 600,
        remainingRequests: 0,
        resetRequestsMs: 60_000,
      });
      const error = (await errorOf(free(fixture, limit))) as GatewayError;
      expect([error.code, error.status]).toEqual(["rate_limit_exceeded", 429]);
      expect(error.message).toBe("Request limit reached: 600 requests a minute for this account; try again in 0.1 s");
      expect(error.retryAfterMs).toBe(100);
      fixture.clock.time += 99;
      expect(await errorOf(free(fixture, limit))).toBeDefined();
      fixture.clock.time += 1;
      await free(fixture, limit);
      expect(await errorOf(free(fixture, limit))).toBeDefined();
      fixture.clock.time += 60_000;
      for (let i = 1; i <= 600; i++) await free(fixture, limit);
      expect(await errorOf(free(fixture, limit))).toBeDefined();
    });

    test.each([1, 3, 7, 60, 601, ...(isLong ? [9999] : [])])(
      "of %i lets in exactly that many at once",
      async (requestsPerMinute) => {
        const fixture = await ledgerFixture(undefined, make);
        for (let i = 1; i <= requestsPerMinute; i++) {
          const { limits } = await fixture.ledger.admit(
            createAdmission({ premium: false, holdTokens: 0, requestsPerMinute }),
          );
          expect(limits.remainingRequests).toBe(requestsPerMinute - i);
        }
        expect(await errorOf(free(fixture, { requestsPerMinute }))).toBeDefined();
      },
    );

    test("belong to the account and not to its neighbours", async () => {
      const fixture = await ledgerFixture(undefined, make);
      await free(fixture, { requestsPerMinute: 1 });
      expect(await errorOf(free(fixture, { requestsPerMinute: 1 }))).toBeDefined();
      await free(fixture, { requestsPerMinute: 1, accountId: "acc_2" });
    });

    test("are not used up by what is refused for another reason", async () => {
      const fixture = await ledgerFixture(undefined, make);
      for (let i = 0; i < 5; i++) await errorOf(free(fixture, { requestsPerMinute: 1, freeTokensPerDay: 0 }));
      await free(fixture, { requestsPerMinute: 1 });
    });

    test("do not jam when the clock steps back, and give nothing for it", async () => {
      const fixture = await ledgerFixture(undefined, make);
      const limit = { requestsPerMinute: 2 };
      await free(fixture, limit);
      await free(fixture, limit);
      fixture.clock.time -= 3_600_000;
      expect(await errorOf(free(fixture, limit))).toBeDefined();
      fixture.clock.time += 30_000;
      await free(fixture, limit);
    });
  });

  describe("tokens per minute", () => {
    const limit = { tokensPerMinute: 1000 };

    test("let in the 1000th token and refuse the 1001st, saying when it fits", async () => {
      const fixture = await ledgerFixture(undefined, make);
      await free(fixture, { ...limit, limitTokens: 999 });
      const { limits } = await free(fixture, { ...limit, limitTokens: 1 });
      expect(limits).toMatchObject({ limitTokens: 1000, remainingTokens: 0, resetTokensMs: 60_000 });
      const error = (await errorOf(free(fixture, { ...limit, limitTokens: 100 }))) as GatewayError;
      expect(error.message).toBe(
        "Token limit reached: 1000 tokens a minute for this account, and this request has 100; try again in 6 s",
      );
      expect(error.retryAfterMs).toBe(6000);
      fixture.clock.time += 6000;
      await free(fixture, { ...limit, limitTokens: 100 });
    });

    test("let a prompt longer than the limit through when nothing of the minute is used", async () => {
      const fixture = await ledgerFixture(undefined, make);
      await free(fixture, { ...limit, limitTokens: 3000 });
      const error = (await errorOf(free(fixture, { ...limit, limitTokens: 1 }))) as GatewayError;
      expect(error.retryAfterMs).toBe(120_060);
    });

    test("go into debt by the tokens of the answer, which a later call waits for", async () => {
      const fixture = await ledgerFixture(undefined, make);
      const admission = createAdmission({ premium: false, ...limit, limitTokens: 100 });
      await fixture.ledger.admit(admission);
      await fixture.ledger.settle(
        createSettlement(admission.callId, { meters: { inputToken: 98, cacheReadToken: 20, outputToken: 1400 } }),
      );
      expect((await fixture.ledger.readLimitState(admission.caller)).remainingTokens).toBe(0);
      const error = (await errorOf(free(fixture, { ...limit, limitTokens: 0 }))) as GatewayError;
      expect(error.retryAfterMs).toBe(30_000);
    });

    test.each([
      ["fewer tokens than were counted give the rest back", { meters: { inputToken: 60 } }, 940],
      ["tokens read from a cache count a tenth", { meters: { inputToken: 60, cacheReadToken: 35 } }, 936],
      ["tokens written to a cache count in full", { meters: { cacheWriteToken: 1, cacheWrite1hToken: 60 } }, 939],
      ["meters without tokens change nothing", { meters: { character: 5 } }, 900],
      ["a released call gives all of it back", { outcome: "released", meters: {} } as const, 1000],
    ])("%s", async (_what, fields, remaining) => {
      const fixture = await ledgerFixture(undefined, make);
      const admission = createAdmission({ premium: false, ...limit, limitTokens: 100 });
      await fixture.ledger.admit(admission);
      await fixture.ledger.settle(createSettlement(admission.callId, fields));
      expect((await fixture.ledger.readLimitState(admission.caller)).remainingTokens).toBe(remaining);
    });
  });

  test("callers of one account with different limits share one backlog in time", async () => {
    const fixture = await ledgerFixture(undefined, make);
    for (let i = 0; i < 300; i++) await free(fixture, { requestsPerMinute: 600 });
    for (let i = 0; i < 5; i++) await free(fixture, { requestsPerMinute: 10 });
    expect(await errorOf(free(fixture, { requestsPerMinute: 10 }))).toBeDefined();
  });

  test.each([
    ["Request limit reached", { requestsPerMinute: 1, tokensPerMinute: 1 }],
    ["Token limit reached", { requestsPerMinute: 2, tokensPerMinute: 1 }],
    ["Insufficient balance", { requestsPerMinute: 2, tokensPerMinute: 2 }],
  ])("of several limits the first is told: %s", async (message, limits) => {
    const { store, ledger } = await ledgerFixture(undefined, make);
    await addAccount(store, "acc_1", 5);
    await ledger.admit(createAdmission(limits));
    expect((await errorOf(ledger.admit(createAdmission(limits)))).message).toStartWith(message);
  });
});
