import { expect, test } from "bun:test";
import { messagesInbound } from "../../../../src/protocols/messages/index.ts";

test("a stream begins with an estimate of its prompt, which grows with it", () => {
  const tokensOf = (text: string, media = 0): number => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "A".repeat(4_000_000) } };
    const content = [{ type: "text", text }, ...Array.from({ length: media }, () => image)];
    const body = { model: "m", max_tokens: 5, stream: true, messages: [{ role: "user", content }] };
    const options = {
      callId: "req_1",
      envelope: {},
      model: "m",
      outputTokensMax: undefined,
      leaveOut: () => undefined,
    };
    const exchange = messagesInbound.open(body as never, options as never);
    const events = String(exchange.push({ id: "chatcmpl-1", model: "m", choices: [] }));
    return Number(/"input_tokens":(\d+)/.exec(events)?.[1]);
  };
  const [short, long] = [tokensOf("Hello"), tokensOf("word ".repeat(40_000))];
  expect(short).toBeGreaterThan(0);
  expect(short).toBeLessThan(100);
  expect(long).toBeGreaterThan(30_000);
  expect(long).toBeLessThan(80_000);
  expect(tokensOf("Hello", 2)).toBeLessThan(10_000);
});
