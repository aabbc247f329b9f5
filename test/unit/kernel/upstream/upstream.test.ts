import { describe, expect, test } from "bun:test";
import { gzipSync } from "node:zlib";
import type { Route } from "../../../../src/kernel/routing/registry.ts";
import { HttpClient } from "../../../../src/kernel/upstream/http-client.ts";
import type { UpstreamBounds } from "../../../../src/kernel/upstream/network.ts";
import { BoundUpstream } from "../../../../src/kernel/upstream/upstream.ts";
import type { UpstreamRequestOptions } from "../../../../src/provider/index.ts";
import { fetchOf, json, liveBody, refused, settled, silence } from "../fake-fetch.ts";
import { attemptOf, createBench, createPlugin, upstreamErrorOf } from "../support.ts";

const plugin = createPlugin({ chat: () => Promise.reject(new Error("not asked")) });
const route = createBench([plugin]).kernel.registry.byName("chat-1")?.routes[0] as Route;

function upstreamOf(fetch: ReturnType<typeof fetchOf>, bounds: Partial<UpstreamBounds> = {}) {
  const { network, clock } = createBench([plugin], { fetch, bounds });
  const attempt = attemptOf(route);
  return { upstream: new BoundUpstream(network, attempt), clock, attempt, call: attempt.run.call };
}

async function textOf(chunks: AsyncIterable<Uint8Array>): Promise<string> {
  let text = "";
  for await (const bytes of chunks) text += new TextDecoder().decode(bytes);
  return text;
}

const streamOf = (...pieces: (Uint8Array | string)[]) =>
  new ReadableStream<Uint8Array>({
    start(controller) {
      for (const piece of pieces)
        controller.enqueue(typeof piece === "string" ? new TextEncoder().encode(piece) : piece);
      controller.close();
    },
  });

describe("a request to a provider", () => {
  test("goes to the base URL with the key, and follows no redirect", async () => {
    const fetch = fetchOf(json({ fine: true }));
    const init: UpstreamRequestOptions = { headers: { "x-version": "2" } };
    const { upstream, attempt } = upstreamOf(fetch);
    expect(await upstream.json<unknown>("/chat?a=b", { hello: 1 }, init)).toEqual({ fine: true });
    const [asked] = fetch.asked;
    expect(asked).toMatchObject({ url: "https://acme.example/v1/chat?a=b", key: "key-a", body: { hello: 1 } });
    expect(asked?.init).toMatchObject({ method: "POST", redirect: "manual", signal: attempt.signal });
    expect(asked?.init.headers).toMatchObject({ "content-type": "application/json", "x-version": "2" });
  });

  test("of a form leaves the content type to the form", async () => {
    const fetch = fetchOf(json({}));
    await upstreamOf(fetch).upstream.form("/form", new FormData());
    expect(fetch.asked[0]?.init.headers).not.toHaveProperty("content-type");
  });

  test.each(["https://evil.example/", "//evil.example/", "chat", ""])("never leaves for %p", async (path) => {
    const fetch = fetchOf(json({}));
    const { upstream } = upstreamOf(fetch);
    await upstream.json(path, {}).catch(() => undefined);
    for (const { url } of fetch.asked) expect(new URL(url).host).toBe("acme.example");
  });

  test.each([301, 302, 307, 308])("is broken by a redirect (%d)", async (status) => {
    const fetch = fetchOf(new Response(null, { status, headers: { location: "http://127.0.0.1/" } }));
    const fault = await upstreamErrorOf(upstreamOf(fetch).upstream.json("/chat", {}));
    expect([fault.kind, fault.status]).toEqual(["bad_response", status]);
    expect(fetch.asked).toHaveLength(1);
  });

  test("that is refused has its refusal read by the plugin, 64 kB of it", async () => {
    const long = new Response(streamOf("x".repeat(100_000)), {
      status: 400,
      headers: { "content-type": "text/plain" },
    });
    expect((await upstreamErrorOf(upstreamOf(fetchOf(long)).upstream.json("/chat", {}))).kind).toBe("bad_request");
    const limited = refused(429, {}, { "retry-after": "3" });
    const fault = await upstreamErrorOf(upstreamOf(fetchOf(limited)).upstream.json("/chat", {}));
    expect([fault.kind, fault.retryAfterMs]).toEqual(["rate_limited", 3000]);
  });

  test("whose refusal breaks off is refused all the same", async () => {
    const cut = fetchOf(({ init }) => {
      const live = liveBody(init);
      live.push('{"error":');
      setImmediate(live.fail);
      return new Response(live.body, { status: 429 });
    });
    expect((await upstreamErrorOf(upstreamOf(cut).upstream.json("/chat", {}))).kind).toBe("rate_limited");
  });
});

describe("a whole answer", () => {
  test.each([
    ["an empty body", new Response("")],
    ["half of it", new Response('{"choices":[')],
  ])("that is %s is broken", async (_, response) => {
    const fault = await upstreamErrorOf(upstreamOf(fetchOf(response)).upstream.json("/chat", {}));
    expect([fault.kind, fault.message]).toEqual(["bad_response", "The provider's answer is not JSON"]);
  });

  test.each(["<html>", " <!DOCTYPE html><html>"])("that is a page is told as one: %s", async (page) => {
    const fault = await upstreamErrorOf(upstreamOf(fetchOf(new Response(page))).upstream.json("/chat", {}));
    expect(fault.message).toBe("The provider's answer is a page (HTML), not JSON: its base URL seems wrong");
  });

  const exact = JSON.stringify("x".repeat(98));
  test.each([
    ["with its length", (text: string) => new Response(text, { headers: { "content-length": String(text.length) } })],
    ["without its length", (text: string) => new Response(streamOf(text.slice(0, 50), text.slice(50)))],
    ["with a lying encoding", (text: string) => new Response(text, { headers: { "content-encoding": "br" } })],
  ])("%s is taken up to its bound and not beyond", async (_, respond) => {
    const bounds = { answerBytesMax: 100 };
    expect(await upstreamOf(fetchOf(respond(exact)), bounds).upstream.json<string>("/a", {})).toHaveLength(98);
    const fault = await upstreamErrorOf(upstreamOf(fetchOf(respond(` ${exact}`)), bounds).upstream.json("/a", {}));
    expect(fault.message).toContain("longer than 100 bytes");
  });

  test("that is cut is broken", async () => {
    const cut = fetchOf(({ init }) => {
      const live = liveBody(init);
      live.push('{"choices":');
      setImmediate(live.fail);
      return new Response(live.body);
    });
    expect((await upstreamErrorOf(upstreamOf(cut).upstream.json("/chat", {}))).message).toContain("connection");
  });

  test("with characters split between pieces is read whole", async () => {
    const bytes = new TextEncoder().encode('"héé€😀"');
    const pieces = [...bytes].map((byte) => new Uint8Array([byte]));
    expect(await upstreamOf(fetchOf(new Response(streamOf(...pieces)))).upstream.json<string>("/a", {})).toBe("héé€😀");
  });
});

test("a compressed answer without a length is read by the platform's fetch", async () => {
  const server = Bun.serve({
    port: 0,
    fetch: () => new Response(streamOf(gzipSync('{"fine":true}')), { headers: { "content-encoding": "gzip" } }),
  });
  const { network } = createBench([plugin]);
  const here = { ...route, baseUrl: `http://127.0.0.1:${server.port}` };
  const upstream = new BoundUpstream({ ...network, client: new HttpClient(fetch, Date.now) }, attemptOf(here));
  expect(await upstream.json<unknown>("/a", {})).toEqual({ fine: true });
  await server.stop(true);
});

describe("a streamed answer", () => {
  const sse = { headers: { "content-type": "text/event-stream; charset=utf-8" } };

  test("is read event by event", async () => {
    const fetch = fetchOf(new Response(streamOf("data: one\n\nda", "ta: two\n\n", "data: three"), sse));
    const seen: string[] = [];
    for await (const { data } of await upstreamOf(fetch).upstream.events("/a", {})) seen.push(data);
    expect(seen).toEqual(["one", "two", "three"]);
  });

  test("of another media type is broken, and its body is let go", async () => {
    let live: ReturnType<typeof liveBody> | undefined;
    const fetch = fetchOf(({ init }) => {
      live = liveBody(init);
      live.push("<html>");
      return new Response(live.body, { headers: { "content-type": "text/html" } });
    });
    expect((await upstreamErrorOf(upstreamOf(fetch).upstream.events("/a", {}))).message).toContain("text/html");
    expect(live?.state.cancelled).toBe(true);
  });

  test("has a bound too", async () => {
    const fetch = fetchOf(new Response(streamOf("x".repeat(60), "x".repeat(60))));
    const { chunks } = await upstreamOf(fetch, { streamBytesMax: 100 }).upstream.bytes("/a", {});
    expect((await upstreamErrorOf(textOf(chunks))).message).toContain("longer than 100 bytes");
  });

  test("that is left early is cancelled at the provider, and leaves no deadline", async () => {
    let live: ReturnType<typeof liveBody> | undefined;
    const fetch = fetchOf(({ init }) => {
      live = liveBody(init);
      live.push("data: one\n\n");
      return new Response(live.body, sse);
    });
    const { upstream, clock, call } = upstreamOf(fetch);
    for await (const _ of await upstream.events("/a", {})) break;
    await settled();
    expect(live?.state.cancelled).toBe(true);
    clock.pass(10 ** 9);
    expect(call.cancelReason).toBeUndefined();
  });
});

describe("silence", () => {
  const bounds = { firstByteMsMax: 1000, idleMsMax: 500 };

  test("before the head ends the attempt after the first deadline, not before, and leaves the call to another", async () => {
    const { upstream, clock, call, attempt } = upstreamOf(fetchOf(silence), bounds);
    const asked = upstreamErrorOf(upstream.json("/a", {}));
    const { signal } = attempt;
    clock.pass(999);
    expect(signal.aborted).toBe(false);
    clock.pass(1);
    expect(signal.aborted).toBe(true);
    expect(call.cancelReason).toBeUndefined();
    expect((await asked).kind).toBe("timeout");
  });

  test.each(["json", "events"] as const)("in the middle of the body cuts it: %s", async (method) => {
    let live: ReturnType<typeof liveBody> | undefined;
    const fetch = fetchOf(({ init }) => {
      live = liveBody(init);
      return new Response(live.body, { headers: { "content-length": "40" } });
    });
    const { upstream, clock, call } = upstreamOf(fetch, bounds);
    const reading = (async () => {
      const answer = await upstream[method]("/a", {});
      if (method === "events") for await (const _ of answer as AsyncIterable<unknown>);
    })();
    await settled();
    clock.pass(499);
    expect(call.cancelReason).toBeUndefined();
    clock.pass(1);
    expect((await upstreamErrorOf(reading)).kind).toBe("timeout");
  });

  test("shorter than the deadline is waited for, again and again", async () => {
    let live: ReturnType<typeof liveBody> | undefined;
    const fetch = fetchOf(({ init }) => {
      live = liveBody(init);
      return new Response(live.body);
    });
    const { upstream, clock } = upstreamOf(fetch, bounds);
    const read = upstream.bytes("/a", {}).then(({ chunks }) => textOf(chunks));
    for (let piece = 0; piece < 5; piece++) {
      await settled();
      clock.pass(499);
      live?.push("x");
    }
    await settled();
    live?.close();
    expect(await read).toBe("xxxxx");
  });

  test("of a slow reader is not the provider's", async () => {
    const fetch = fetchOf(new Response(streamOf("a", "b")));
    const { upstream, clock, call } = upstreamOf(fetch, bounds);
    let text = "";
    for await (const bytes of (await upstream.bytes("/a", {})).chunks) {
      clock.pass(10_000);
      text += new TextDecoder().decode(bytes);
    }
    expect([text, call.cancelReason]).toEqual(["ab", undefined]);
  });
});

describe("what a stream reports in its choices", () => {
  const report = (completion_tokens: number) => ({
    prompt_tokens: 3,
    completion_tokens,
    total_tokens: 3 + completion_tokens,
  });
  const endOf = (index: number, more: object) => ({ choices: [{ index, delta: {}, finish_reason: "stop", ...more }] });

  /** Usage of a stream of these events, as it is owed where the answer then fails. */
  async function usageOf(...events: object[]) {
    const text = [...events.map((event) => JSON.stringify(event)), "[DONE]"]
      .map((data) => `data: ${data}\n\n`)
      .join("");
    const response = new Response(text, { headers: { "content-type": "text/event-stream" } });
    const { upstream, attempt } = upstreamOf(fetchOf(response));
    for await (const _ of await upstream.events("/chat", {}));
    return attempt.sent[0]?.usage;
  }

  test("is owed of all of them, however many there are", async () => {
    const events = [2, 4, 8, 16].map((tokens, index) => endOf(index, { usage: report(tokens) }));
    expect(await usageOf(...events)).toMatchObject(report(30));
  });

  test("is owed with the report of all that comes before or behind it", async () => {
    const events = [2, 4, 8].map((tokens, index) => endOf(index, { usage: report(tokens) }));
    expect(await usageOf({ choices: [], usage: report(1) }, ...events)).toMatchObject(report(14));
    expect(await usageOf(...events, { choices: [], usage: report(15) })).toMatchObject(report(15));
  });

  test("is what a choice reported last", async () => {
    const pieces = [1, 2, 3].map((tokens) => ({
      choices: [{ index: 0, delta: { content: "a" }, usage: report(tokens) }],
    }));
    expect(await usageOf(...pieces, endOf(0, { usage: report(4) }), endOf(1, { usage: report(5) }))).toMatchObject(
      report(9),
    );
  });

  test("leaves a report at the top level of each event as it was", async () => {
    const events = [2, 4, 8].map((tokens, index) => ({ ...endOf(index, {}), usage: report(tokens) }));
    expect(await usageOf(...events)).toMatchObject(report(8));
  });
});
