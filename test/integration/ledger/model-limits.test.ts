import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError, type ModelLimits, type RateLimits } from "../../../src/contract/index.ts";
import { errorOf } from "../../support/error-of.ts";
import { engineNames, historyCount, type MakeLedger, useEngines } from "./engines.ts";
import { type AdmissionFields, createAdmission, createSettlement, ledgerFixture } from "./fixture.ts";

const engines = useEngines();

/** A call that nothing but limits can refuse. */
const claim = (fields: AdmissionFields = {}) => createAdmission({ premium: false, holdTokens: 0, ...fields });
const ofModel = (limits: ModelLimits) => ({ modelLimits: { "model-1": limits } });
const noTokens = { quotaTokens: 0, meters: {} };

describe.each(engineNames)("%s engine: limits of a model", (name) => {
  const make: MakeLedger = (options) => engines[name](options);

  describe.each(["account", "key"] as const)("for an %s", (owner) => {
    const limited = (limits: RateLimits) => ofModel({ [owner]: limits });

    test.each<[string, AdmissionFields, number, string]>([
      ["requests", limited({ requestsPerMinute: 7 }), 7, "Request limit reached: 7 requests a minute"],
      ["tokens", { ...limited({ tokensPerMinute: 900 }), limitTokens: 100 }, 9, "Token limit reached: 900 tokens"],
      ["calls at once", limited({ concurrentCalls: 5 }), 5, "Concurrency limit reached: 5 calls at once"],
    ])("let 64 calls at once in up to their %s, and refuse the others by name", async (_, fields, count, message) => {
      const { ledger } = await ledgerFixture(undefined, make);
      const outcomes = await Promise.allSettled(Array.from({ length: 64 }, () => ledger.admit(claim(fields))));
      const refusals = outcomes.flatMap((outcome) => (outcome.status === "rejected" ? [outcome.reason] : []));
      expect(64 - refusals.length).toBe(count);
      for (const error of refusals as GatewayError[]) {
        expect(error.code).toBe("rate_limit_exceeded");
        expect(error.message).toStartWith(message);
        expect(error.message).toContain(`of the model "model-1" for this ${owner}`);
        expect(error.limit).toMatchObject({ owner, model: "model-1" });
        expect(error.retryAfterMs).toBeGreaterThan(0);
      }
      // Nothing of another model is used up, nor of the account for all of them.
      await ledger.admit(claim({ ...fields, model: "model-2" }));
      const { limitRequests, remainingRequests } = await ledger.readLimitState(claim().caller);
      expect(limitRequests - remainingRequests).toBe(count + 1);
    });

    test("are free again when the minute has gone by, and the call has ended", async () => {
      const { ledger, clock } = await ledgerFixture(undefined, make);
      const fields = limited({ requestsPerMinute: 2, concurrentCalls: 1 });
      const first = claim(fields);
      await ledger.admit(first);
      expect(((await errorOf(ledger.admit(claim(fields)))) as GatewayError).limit?.name).toBe("concurrent_calls");
      await ledger.settle(createSettlement(first.callId, noTokens));
      const second = claim(fields);
      await ledger.admit(second);
      await ledger.settle(createSettlement(second.callId, noTokens));
      const error = (await errorOf(ledger.admit(claim(fields)))) as GatewayError;
      expect([error.limit?.name, error.retryAfterMs]).toEqual(["requests_per_minute", 30_000]);
      clock.time += 30_000;
      await ledger.admit(claim(fields));
    });

    test("count the tokens of the answer when it has ended, and those of a stream while it grows", async () => {
      const { ledger } = await ledgerFixture(undefined, make);
      const fields = { ...limited({ tokensPerMinute: 1000 }), limitTokens: 100, holdTokens: 10 };
      const admission = claim(fields);
      await ledger.admit(admission);
      await ledger.extend({ ...admission, limitTokens: 300 });
      const left = async () => (await ledger.readLimitState(admission.caller, "model-1")).remainingTokens;
      // Behind Redis nobody waits for tokens that are only counted.
      while ((await left()) !== 700) await Bun.sleep(5);
      await ledger.settle(createSettlement(admission.callId, { quotaTokens: 0, meters: { inputToken: 50 } }));
      expect(await left()).toBe(950);
      expect((await ledger.readLimitState(admission.caller)).limitTokens).toBe(1e9);
    });

    test("are not used up by a call that another limit refuses", async () => {
      const { ledger } = await ledgerFixture(undefined, make);
      const fields = { ...limited({ requestsPerMinute: 1 }), freeTokensPerDay: 0 };
      for (let i = 0; i < 3; i++) {
        expect(((await errorOf(ledger.admit(claim({ ...fields, holdTokens: 1 })))) as GatewayError).code).toBe(
          "quota_exceeded",
        );
      }
      await ledger.admit(claim(limited({ requestsPerMinute: 1 })));
    });
  });

  test("the headers tell the scarcest limit of those that bind the call", async () => {
    const { ledger } = await ledgerFixture(undefined, make);
    const { limits } = await ledger.admit(
      claim({
        ...ofModel({ key: { requestsPerMinute: 9 }, account: { requestsPerMinute: 5, tokensPerMinute: 50 } }),
        requestsPerMinute: 20,
        tokensPerMinute: 100,
        keyLimits: { tokensPerMinute: 40 },
        limitTokens: 10,
      }),
    );
    expect(limits).toMatchObject({ limitRequests: 5, remainingRequests: 4, limitTokens: 40, remainingTokens: 30 });
  });

  test("a name of a model may have any characters", async () => {
    const { ledger } = await ledgerFixture(undefined, make);
    for (const model of ["a/b:c d", "é\t😀", "%s ', 1) --"]) {
      const fields = { model, modelLimits: { [model]: { key: { requestsPerMinute: 1, concurrentCalls: 9 } } } };
      const admission = claim(fields);
      await ledger.admit(admission);
      expect(((await errorOf(ledger.admit(claim(fields)))) as GatewayError).limit?.model).toBe(model);
      await ledger.settle(createSettlement(admission.callId, noTokens));
    }
  });

  test("whatever calls come, as many are let in as limits of keys, accounts and models together allow", async () => {
    const bound = fc.option(fc.integer({ min: 1, max: 6 }), { nil: undefined });
    const rates = fc.record({ requestsPerMinute: bound, concurrentCalls: bound });
    const step = fc.record({
      key: fc.constantFrom("key_1", "key_2"),
      model: fc.constantFrom("model-1", "model-2"),
      ends: fc.boolean(),
      waitMs: fc.constantFrom(0, 0, 5000, 20_000),
    });
    const properties = fc.record({
      account: fc.record({ requestsPerMinute: fc.integer({ min: 1, max: 12 }), concurrentCalls: bound }),
      keys: fc.record({ key_1: rates, key_2: rates }),
      models: fc.record({
        "model-1": fc.record({
          account: fc.option(rates, { nil: undefined }),
          key: fc.option(rates, { nil: undefined }),
        }),
      }),
      steps: fc.array(step, { maxLength: 40 }),
    });
    await fc.assert(
      fc.asyncProperty(properties, async ({ account, keys, models, steps }) => {
        const { store, ledger, clock } = await ledgerFixture(undefined, make);
        const reference = new Map<string, { backlogMs: number; at: number; running: number }>();
        for (const { key, model, ends, waitMs } of steps) {
          clock.time += waitMs;
          const own: ModelLimits = model === "model-1" ? models["model-1"] : {};
          const owners: [string, RateLimits | undefined][] = [
            [`${key} ${model}`, own.key],
            [key, keys[key]],
            [model, own.account],
            ["all", account],
          ];
          const bounds = owners.flatMap(([id, limits]) => {
            if (limits === undefined) return [];
            const used = reference.get(id) ?? { backlogMs: 0, at: clock.time, running: 0 };
            reference.set(id, used);
            used.backlogMs = Math.max(0, used.backlogMs - (clock.time - used.at));
            used.at = clock.time;
            const { requestsPerMinute = Number.POSITIVE_INFINITY, concurrentCalls = Number.POSITIVE_INFINITY } = limits;
            return [{ used, requestMs: 60_000 / requestsPerMinute, callsMax: concurrentCalls }];
          });
          const fits = bounds.every(
            ({ used, requestMs, callsMax }) => used.backlogMs + requestMs <= 60_000.001 && used.running < callsMax,
          );
          const admission = claim({
            ...account,
            keyId: key,
            keyLimits: keys[key],
            model,
            modelLimits: models,
            openedAt: clock.time,
          });
          const outcome = await ledger.admit(admission).then(
            () => true,
            (error) => {
              if (error instanceof GatewayError && error.code === "rate_limit_exceeded") return false;
              throw error;
            },
          );
          expect(outcome).toBe(fits);
          if (!fits) continue;
          for (const { used, requestMs } of bounds) {
            used.backlogMs += requestMs;
            used.running += ends ? 0 : 1;
          }
          if (ends) await ledger.settle(createSettlement(admission.callId, noTokens));
        }
        await store.close();
      }),
      { numRuns: historyCount },
    );
  });
});
