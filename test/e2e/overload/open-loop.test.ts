import { describe, expect, test } from "bun:test";
import { completionOf } from "../../support/chunks.ts";
import { fillWallet, startGateway } from "../../support/gateway.ts";
import { isLong } from "../../support/long.ts";
import { answerOf, startRaw } from "../../support/raw-server.ts";
import { until } from "../../support/until.ts";

const thinkMs = 100;
const secondsOfLoad = 8;

if (!isLong) console.log("Twice as many calls as can be served, in an open loop, are for LONG=1");

describe.skipIf(!isLong)("twice as many calls as can be served, which come whatever became of those before", () => {
  test("are served as many as without the others, the rest are refused in words, and each answer is charged once", async () => {
    const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
    const answer = answerOf(JSON.stringify(completionOf("Fine", usage)));
    const provider = await startRaw((socket) => void setTimeout(() => socket.write(answer), thinkMs));
    const upstream = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl };
    const gateway = await startGateway({
      env: {
        ...upstream,
        LOG_LEVEL: "error",
        TOKENS_PER_MINUTE: "9007199254740991",
        REQUESTS_PER_MINUTE: "1000000000",
      },
      isEngineOwn: true,
    });
    await fillWallet(gateway, "1000000.00");
    // Of many turns, so that a call costs the gateway many times what it costs to send it.
    const messages = Array.from({ length: 300 }, () => ({ role: "user", content: "And what became of the fox then?" }));
    const body = { model: "famA-4.1-nano", max_tokens: 5, messages };
    const statuses = new Map<number, number>();
    const ask = async () => {
      const response = await gateway.post("/chat/completions", body);
      const text = await response.text();
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.status !== 200) {
        expect([429, 503]).toContain(response.status);
        expect(JSON.parse(text).error.message).toBeString();
        expect(Number(response.headers.get("retry-after"))).toBeGreaterThan(0);
      }
    };
    const answered = () => statuses.get(200) ?? 0;

    /** Answers a second in a closed loop of so many callers; the first half only warms it up. */
    const measure = async (callers: number, ms: number) => {
      const startedAt = performance.now();
      let half = 0;
      await Promise.all(
        Array.from({ length: callers }, async () => {
          while (performance.now() - startedAt < ms) {
            await ask();
            if (half === 0 && performance.now() - startedAt > ms / 2) half = answered();
          }
        }),
      );
      return (answered() - half) / (ms / 2000);
    };
    const capacity = await measure(200, 10_000);
    const before = answered();
    const startedAt = performance.now();
    const running = new Set<Promise<void>>();
    for (let sent = 0; performance.now() - startedAt < secondsOfLoad * 1000; await Bun.sleep(1)) {
      for (; sent < ((performance.now() - startedAt) / 1000) * 2 * capacity; sent++) {
        const call = ask();
        running.add(call);
        void call.finally(() => running.delete(call));
      }
    }
    await Promise.all(running);
    const goodput = (answered() - before) / ((performance.now() - startedAt) / 1000);
    const others = [...statuses].map(([status, count]) => `${count} with ${status}`).join(", ");
    console.log(`capacity ${capacity.toFixed(0)} a second, goodput ${goodput.toFixed(0)} at twice of it; ${others}`);
    expect(goodput).toBeGreaterThan(capacity / 2);
    // It recovers at once.
    expect((await gateway.post("/chat/completions", body)).status).toBe(200);
    const expected = answered() + 1;
    const day = new Date().toISOString().slice(0, 10);
    const charged = async () => {
      const { stdout } = await gateway.run("ledger", "export", "--from", day, "--to", day);
      const calls = stdout
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line));
      return calls.filter(({ status, state }) => status === 200 && state === "settled").length;
    };
    await until(async () => (await charged()) === expected);
    expect(await gateway.cli<{ differences: string[] }>("ledger", "verify")).toMatchObject({ differences: [] });
    expect(await gateway.stop()).toBe(0);
    await provider.stop();
  });
});
