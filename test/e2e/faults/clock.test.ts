import { afterAll, expect, test } from "bun:test";
import { completionOf, textChunk } from "../../support/chunks.ts";
import { startInProcess } from "../../support/in-process.ts";
import { startRaw } from "../../support/raw-server.ts";
import { until } from "../../support/until.ts";

const minuteMs = 60_000;
/** A few rounds of the timers that look for deadlines and for lag. */
const severalTicksMs = 250;
const toStop: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const stop of toStop.splice(0).reverse()) await stop();
});

test("the system's time may be set forward and back while calls are at work", async () => {
  const answer = Promise.withResolvers<void>();
  let asked = 0;
  const provider = await startRaw(async (socket, { body }) => {
    asked += 1;
    const isStream = body.includes('"stream":true');
    const type = isStream ? "text/event-stream" : "application/json";
    const head = `HTTP/1.1 200 OK\r\ncontent-type: ${type}\r\nconnection: close\r\n\r\n`;
    const event = (text: string) => `data: ${JSON.stringify(textChunk(text))}\n\n`;
    if (isStream) socket.write(head + event("one "));
    await answer.promise;
    socket.end(isStream ? `${event("two")}data: [DONE]\n\n` : head + JSON.stringify(completionOf("one two")));
  });
  toStop.push(() => provider.stop());
  let setByMs = 0;
  const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl };
  const gateway = await startInProcess({ env, now: () => Date.now() + setByMs });
  toStop.push(() => gateway.stop());
  const body = { model: "famA-4.1", messages: [{ role: "user", content: "Count" }] };
  const answers = [
    gateway.post("/chat/completions", body),
    gateway.post("/chat/completions", { ...body, stream: true }),
  ];
  await until(() => asked === 2);
  for (const minutes of [20, -20]) {
    setByMs = minutes * minuteMs;
    await Bun.sleep(severalTicksMs);
    expect(gateway.app.loadShedder.size).toBe(2);
  }
  setByMs = 20 * minuteMs;
  answer.resolve();
  for (const response of await Promise.all(answers)) {
    expect(response.status).toBe(200);
    expect(await response.text()).toContain("two");
    await until(() => gateway.app.loadShedder.size === 0);
    const { first_byte_ms, duration_ms } = gateway.ledger.callOf(response);
    expect(duration_ms).toBeGreaterThanOrEqual(2 * severalTicksMs);
    expect(duration_ms).toBeLessThan(10 * minuteMs);
    expect(first_byte_ms).toBeGreaterThanOrEqual(0);
    expect(first_byte_ms).toBeLessThan(10 * minuteMs);
  }
  const model = await fetch(`${gateway.baseUrl}/models/famA-4.1`, {
    headers: { authorization: `Bearer ${gateway.key}` },
  });
  expect(await model.json()).toMatchObject({ routes: [{ state: "closed" }] });
});
