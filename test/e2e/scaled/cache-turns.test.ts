import { afterAll, describe, expect, test } from "bun:test";
import { nextTurn, parts, startCacheProvider, toBody } from "../../support/cache-provider.ts";
import { fillWallet, type Gateway } from "../../support/gateway.ts";
import { canShare, usePair } from "./pair.ts";

/** Longer than Redis takes for the turns before, as a provider does. */
const answerMs = 500;

describe.skipIf(!canShare)("a session that a balancer spreads over two gateways", () => {
  const provider = startCacheProvider();
  provider.beforeAnswer = () => Bun.sleep(answerMs);
  const pair = usePair({ ...provider.env });
  afterAll(() => provider.stop());

  test("has its turns compared whichever gateway they come to", async () => {
    await fillWallet(pair.gateways[0] as Gateway);
    const turns = [parts(), nextTurn(parts())];
    turns.push(nextTurn(turns[1] as (typeof turns)[number]));
    const misses = [];
    for (const [index, turn] of turns.entries()) {
      const gateway = pair.gateways[index % 2] as Gateway;
      if (index === 2) provider.cache.forget();
      const response = await gateway.post("/messages", toBody("messages", "claude-sonnet-5", turn), {
        "session-id": "spread",
      });
      expect(response.status).toBe(200);
      const id = response.headers.get("x-request-id") ?? "";
      const { cache_miss: miss } = await (await gateway.ask(`/key/requests/${id}`)).json();
      misses.push(miss?.kind ?? null);
    }
    expect(misses).toEqual(["first_seen", null, "provider"]);
  });
});
