import { afterAll, expect, test } from "bun:test";
import { errorOf } from "./error-of.ts";
import { cutAtRandom } from "./random.ts";
import { answersTo } from "./raw-request.ts";
import { startReplayUpstream } from "./replay-upstream.ts";
import { binaryReply, eventsReply, jsonReply, type Reply, textReply } from "./reply.ts";

const upstream = await startReplayUpstream(7);
afterAll(() => upstream.stop());

const ask = (provider: string, init: RequestInit = {}) =>
  fetch(`${upstream.baseUrlOf(provider)}/v1/chat/completions`, { method: "POST", ...init });

async function slicesOf(response: Response): Promise<string[]> {
  const slices: string[] = [];
  for await (const slice of response.body as ReadableStream<Uint8Array>) slices.push(Buffer.from(slice).toString());
  return slices;
}

test("answers in the order they were set, and the last one stands", async () => {
  upstream.answer("order", jsonReply({ turn: 1 }), jsonReply({ turn: 2 }, 404));
  const statuses: number[] = [];
  for (let turn = 0; turn < 3; turn++) statuses.push((await ask("order")).status);
  expect(statuses).toEqual([200, 404, 404]);
});

test("says so when no answer was set", async () => {
  const response = await ask("unknown");
  expect(response.status).toBe(501);
  expect(await response.text()).toContain('answer(\\"unknown\\"');
});

test("keeps the path, the headers and the JSON body of a request", async () => {
  upstream.answer("json", jsonReply({}));
  await ask("json", {
    body: '{"model":"m"}',
    headers: { "content-type": "application/json", authorization: "Bearer k" },
  });
  const seen = upstream.seen.findLast((request) => request.provider === "json");
  expect(seen).toMatchObject({ method: "POST", path: "/v1/chat/completions", json: { model: "m" } });
  expect(seen?.headers.authorization).toBe("Bearer k");
});

test("keeps the parts of a multipart body in order", async () => {
  upstream.answer("form", jsonReply({}));
  const form = new FormData();
  form.append("model", "whisper");
  form.append("file", new File([new Uint8Array([1, 2, 3])], "a.wav", { type: "audio/wav" }));
  await ask("form", { body: form });
  const parts = upstream.seen.findLast((request) => request.provider === "form")?.parts;
  expect(parts?.[0]).toEqual({ name: "model", text: "whisper" });
  expect(parts?.[1]?.file?.name).toBe("a.wav");
  expect([...new Uint8Array((await parts?.[1]?.file?.arrayBuffer()) as ArrayBuffer)]).toEqual([1, 2, 3]);
});

test("cuts bytes the same way for the same seed, and loses none", () => {
  const bytes = new TextEncoder().encode('data: {"é":1}\n\n'.repeat(20));
  const slices = cutAtRandom(bytes, 12, 3);
  expect(slices.map((slice) => slice.length)).toEqual(cutAtRandom(bytes, 12, 3).map((slice) => slice.length));
  expect(Buffer.concat(slices).equals(Buffer.from(bytes))).toBe(true);
  expect(slices.length).toBe(12);
});

test("sends a stream in several slices and ends it", async () => {
  upstream.answer("stream", eventsReply({ a: 1 }, { a: 2 }, "[DONE]"));
  const slices = await slicesOf(await ask("stream"));
  expect(slices.length).toBeGreaterThan(3);
  expect(slices.join("")).toBe('data: {"a":1}\n\ndata: {"a":2}\n\ndata: [DONE]\n\n');
});

test("sends binary unchanged", async () => {
  const bytes = new Uint8Array(5000).map((_, index) => index % 251);
  upstream.answer("binary", binaryReply(bytes, "audio/wav"));
  const response = await ask("binary");
  expect(Buffer.from(await response.arrayBuffer()).equals(Buffer.from(bytes))).toBe(true);
});

test("a cut closes the connection after that many bytes", async () => {
  upstream.answer("cut", { ...textReply("0123456789"), fault: { kind: "cutAfter", bytes: 4 } });
  const response = await ask("cut");
  expect(await errorOf(response.text())).toBeInstanceOf(Error);
  // By a connection of its own: `fetch` may drop what came together with the end of the connection.
  const { host, origin, pathname } = new URL(upstream.baseUrlOf("cut"));
  const request = `POST ${pathname}/v1/chat/completions HTTP/1.1\r\nhost: ${host}\r\ncontent-length: 0\r\n\r\n`;
  expect(await answersTo(origin, request)).toEndWith("\r\n\r\n4\r\n0123\r\n");
});

test("a reset fails before any byte", async () => {
  upstream.answer("reset", { ...textReply("x"), fault: { kind: "reset" } });
  expect(await errorOf(ask("reset"))).toBeInstanceOf(Error);
});

const hanging: [string, Reply][] = [
  ["before the head", { ...textReply("0123456789"), fault: { kind: "hang" } }],
  ["inside the body", { ...textReply("0123456789"), fault: { kind: "hangAfter", bytes: 4 } }],
];

test.each(hanging)("a hang %s lasts until the asker leaves, and that is seen", async (_, reply) => {
  upstream.answer("hang", reply);
  const controller = new AbortController();
  const asking = ask("hang", { signal: controller.signal }).then((response) => response.text());
  const before = upstream.seen.length;
  while (upstream.seen.length === before) await Bun.sleep(1);
  controller.abort();
  expect(await errorOf(asking)).toBeInstanceOf(Error);
  expect(await upstream.seen.at(-1)?.left).toBe(true);
});

test("an answered request is not one that was left", async () => {
  upstream.answer("kept", jsonReply({}));
  await (await ask("kept")).text();
  expect(await upstream.seen.at(-1)?.left).toBe(false);
});
