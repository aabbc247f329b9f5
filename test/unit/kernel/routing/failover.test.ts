import { describe, expect, test } from "bun:test";
import { attemptsMax } from "../../../../src/kernel/failover.ts";
import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  fromIterable,
} from "../../../../src/provider/index.ts";
import { failedBy, fetchOf, json, liveBody, refused, settled } from "../fake-fetch.ts";
import { completionOf, Sink, textChunk } from "../streams.ts";
import { chatCall, chatModel, createBench, createPlugin, rejectionOf, runCall } from "../support.ts";

const chat = (call: Call<ChatRequest>) => call.upstream.json<ChatCompletion>("/chat", { model: call.model.upstreamId });
const acme = createPlugin({ chat });
const backup = createPlugin(
  { chat },
  { name: "backup", models: [{ ...chatModel, upstreamId: "other", priority: 200 }] },
);
const good = json(completionOf("Hello"));

function ask(fetch: ReturnType<typeof fetchOf>, keys: string[] = ["a", "b", "c"], plugins = [acme, backup]) {
  const bench = createBench(plugins, { fetch, credentials: { acme: { keys }, backup: { keys: ["z"] } } });
  const call = chatCall();
  return { ...bench, call, done: runCall(bench.kernel, call) };
}

const keysOf = (fetch: ReturnType<typeof fetchOf>) => fetch.asked.map(({ key }) => key);

describe("attempt", () => {
  test.each([
    ["401", refused(401)],
    ["403", refused(403)],
    ["402", refused(402)],
    ["429", refused(429)],
    ["insufficient_quota", refused(429, { code: "insufficient_quota" })],
  ])("takes the next key after %s", async (_, refusal) => {
    const fetch = fetchOf(refusal, good);
    const { done, ledger, call } = ask(fetch);
    await done;
    expect(keysOf(fetch)).toEqual(["a", "b"]);
    expect(call.attempts).toBe(2);
    expect(ledger.settlement).toMatchObject({ plugin: "acme", status: 200, usageSource: "reported" });
  });

  test.each([
    ["500", refused(500)],
    ["502", refused(502)],
    ["503", refused(503)],
    ["404", refused(404)],
    ["a redirect", new Response(null, { status: 302, headers: { location: "https://elsewhere.example" } })],
    ["a connection that was refused", failedBy("ECONNREFUSED")],
    ["a connection that timed out", failedBy("ETIMEDOUT")],
    ["a host name that nobody knows", failedBy("ENOTFOUND")],
    ["a certificate that is not accepted", failedBy("CERT_HAS_EXPIRED")],
    ["a proxy that refused the connection", failedBy("ERR_PROXY_TUNNEL")],
    ["a page with 200", new Response("<html>")],
    ["nothing with 200", new Response("")],
    ["white space with 200", new Response("\n\n")],
    ["an answer that is an error without a code", json({ error: { message: "Failed" } })],
    ["an answer that is an error in a text", json({ error: "quota" })],
    ["an answer that is an error in another form", json({ code: 1305, msg: "busy" })],
    ["an answer without choices", json({ hello: "world" })],
    ["an answer whose choices are none", json({ id: "x", choices: [], usage: null })],
    ["an answer whose choice has no message", json({ choices: [{}] })],
    ["an answer whose message is null", json({ choices: [{ index: 0, message: null }] })],
  ])("takes the next route after %s", async (_, failure) => {
    const fetch = fetchOf(failure, good);
    const { done, ledger } = ask(fetch);
    await done;
    expect(fetch.asked.map(({ url }) => url)).toEqual([
      "https://acme.example/v1/chat",
      "https://backup.example/v1/chat",
    ]);
    expect(fetch.asked[1]?.body).toEqual({ model: "other" });
    expect(ledger.settlement.plugin).toBe("backup");
  });

  test.each([
    ["a connection that was reset", failedBy("ECONNRESET")],
    ["a failure of an unknown kind", new TypeError("Something")],
    ["408", refused(408)],
    ["504", refused(504)],
    ["524", refused(524)],
  ])("asks nobody else after %s: the provider may be at work on it", async (_, failure) => {
    const fetch = fetchOf(failure, good);
    const { done, ledger } = ask(fetch);
    expect((await rejectionOf(done)).code).toMatch(/^upstream_(error|timeout)$/);
    expect(fetch.asked).toHaveLength(1);
    expect(ledger.settlement).toMatchObject({ outcome: "released", meters: {} });
  });

  test.each([
    ["whose text is elsewhere", json({ message: { content: "Hello" } })],
    ["that breaks off", new Response('{"choices":')],
  ])("asks nobody else after an answer %s, and charges the prompt: the provider served it", async (_, failure) => {
    const fetch = fetchOf(failure, good);
    const { done, ledger } = ask(fetch);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(fetch.asked).toHaveLength(1);
    expect(ledger.settlement).toMatchObject({
      outcome: "settled",
      usageSource: "estimated",
      meters: { inputToken: 9 },
    });
  });

  test("asks nobody else after an answer without choices that reports its usage, and charges that", async () => {
    const usage = { prompt_tokens: 7, completion_tokens: 3 };
    const fetch = fetchOf(json({ choices: [], usage }), good);
    const { done, ledger } = ask(fetch);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(fetch.asked).toHaveLength(1);
    expect(ledger.settlement).toMatchObject({ outcome: "settled", meters: { inputToken: 7, outputToken: 3 } });
  });

  const tooLarge = refused(429, { message: "Limit 7000, Used 0, Requested ~12903", code: "rate_limit_exceeded" });

  test("takes the next route after a request too large for the account, whatever other keys there are", async () => {
    const fetch = fetchOf(tooLarge, good);
    const { done, ledger } = ask(fetch);
    await done;
    expect(keysOf(fetch)).toEqual(["a", "z"]);
    expect(ledger.settlement.plugin).toBe("backup");
  });

  test("tells that the request is too large for every route, and waits for nothing", async () => {
    const fetch = fetchOf(tooLarge);
    const { done, pauses } = ask(fetch, ["a"], [acme]);
    const error = await rejectionOf(done);
    expect(error).toMatchObject({ code: "request_too_large", status: 400, retryAfterMs: undefined });
    expect(error.message).toContain("about 12903 tokens");
    expect([fetch.asked.length, pauses.length]).toEqual([1, 0]);
  });

  test("takes the next route after a plugin's own failure, and logs it", async () => {
    const bad = createPlugin({
      chat: () => {
        throw new TypeError("x is undefined");
      },
    });
    const { done, log, ledger } = ask(fetchOf(good), ["a"], [bad, backup]);
    await done;
    expect(ledger.settlement.plugin).toBe("backup");
    expect(log.lines).toContainEqual({
      level: "error",
      event: "plugin_failed",
      fields: expect.objectContaining({ plugin: "acme", error: expect.objectContaining({ name: "TypeError" }) }),
    });
    expect(JSON.stringify(log.lines)).not.toContain("x is undefined");
  });

  test("asks nobody else after a plugin's own failure behind an answer", async () => {
    const fetch = fetchOf(good);
    const bad = createPlugin({
      chat: async ({ upstream }) => {
        await upstream.json("/chat", {});
        throw new TypeError("x is undefined");
      },
    });
    const { done } = ask(fetch, ["a"], [bad, backup]);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(fetch.asked).toHaveLength(1);
  });

  test.each([400, 422, 413])("asks nobody else after %d: it would be the same there", async (status) => {
    const fetch = fetchOf(refused(status, { message: "max_tokens is wrong", param: "max_tokens" }), good);
    const { done } = ask(fetch);
    const error = await rejectionOf(done);
    expect(fetch.asked).toHaveLength(1);
    expect(error).toMatchObject({ status: 400, code: "invalid_request", param: "max_tokens" });
    expect(error.message).toContain("max_tokens is wrong");
  });

  test("tries four times at the most", async () => {
    const fetch = fetchOf(refused(401));
    const { done, call } = ask(fetch, ["a", "b", "c", "d", "e"]);
    expect((await rejectionOf(done)).code).toBe("upstream_error");
    expect(keysOf(fetch)).toEqual(["a", "b", "c", "d"]);
    expect(call.attempts).toBe(attemptsMax);
  });

  test("tries each key once, then the next route", async () => {
    const fetch = fetchOf(refused(429), refused(429), good);
    await ask(fetch, ["a", "b"]).done;
    expect(keysOf(fetch)).toEqual(["a", "b", "z"]);
  });

  test("tells the last failure, and when to come back", async () => {
    const { done } = ask(fetchOf(refused(429, {}, { "retry-after": "7" })), ["a"], [acme]);
    expect(await rejectionOf(done)).toMatchObject({ code: "rate_limit_exceeded", status: 429, retryAfterMs: 7000 });
  });

  test("never shows what a provider says of our key", async () => {
    const { done, log } = ask(
      fetchOf(refused(401, { message: "Incorrect API key: sk-secret-12345678" })),
      ["a"],
      [acme],
    );
    const error = await rejectionOf(done);
    expect(error.message).not.toContain("secret");
    expect(JSON.stringify(log.lines)).not.toContain("secret");
    expect(log.lines.some(({ event }) => event === "upstream_refused_key")).toBe(true);
  });

  test("lets a refused key rest, and takes it again afterwards", async () => {
    const fetch = fetchOf(refused(429, {}, { "retry-after": "20" }), good, good, good, good);
    const { kernel, clock } = createBench([acme], { fetch, credentials: { acme: { keys: ["a", "b"] } } });
    for (let call = 0; call < 3; call++) await runCall(kernel, chatCall());
    expect(keysOf(fetch)).toEqual(["a", "b", "b", "b"]);
    clock.nowMs += 20_000;
    await runCall(kernel, chatCall());
    expect(keysOf(fetch).at(-1)).toBe("a");
  });

  test("shares calls among the keys", async () => {
    const fetch = fetchOf(good);
    const { kernel } = createBench([acme], { fetch, credentials: { acme: { keys: ["a", "b"] } } });
    for (let call = 0; call < 4; call++) await runCall(kernel, chatCall());
    expect(keysOf(fetch)).toEqual(["a", "b", "a", "b"]);
  });

  test("asks a provider that needs no key without one", async () => {
    const fetch = fetchOf(refused(429), good);
    const free = createPlugin({ chat }, { credential: "none" });
    const bench = createBench([free, backup], { fetch, credentials: { acme: { keys: [] }, backup: { keys: ["z"] } } });
    await runCall(bench.kernel, chatCall());
    expect(keysOf(fetch)).toEqual([undefined, "z"]);
  });

  test("sends the spec's default temperature, but not to a model that rejects it", async () => {
    const seen: unknown[] = [];
    const note = async ({ request }: Call<ChatRequest>) => {
      seen.push(request.temperature);
      return completionOf("Hello");
    };
    await runCall(createBench([createPlugin({ chat: note })]).kernel, chatCall());
    await runCall(createBench([createPlugin({ chat: note })]).kernel, chatCall({ temperature: 0 }));
    const strict = createPlugin({ chat: note }, { models: [{ ...chatModel, omit: ["temperature"] }] });
    await runCall(createBench([strict]).kernel, chatCall());
    expect(seen).toEqual([0.7, 0, undefined]);
  });
});

describe("a streamed attempt", () => {
  /** Two routes: the first streams these pieces and then fails. */
  function failing(...pieces: ChatChunk[]) {
    const first = createPlugin({
      chat: async () =>
        fromIterable(
          (async function* () {
            yield* pieces;
            throw new TypeError("boom");
          })(),
        ),
    });
    const second = createPlugin({ chat: async () => completionOf("from the second") }, { name: "second" });
    const bench = createBench([first, second]);
    const sink = new Sink<ChatChunk>();
    return { ...bench, sink, done: runCall(bench.kernel, chatCall({ stream: true }, { sink })) };
  }

  test.each([
    ["nothing", []],
    ["an empty role", [{ choices: [{ index: 0, delta: { role: "assistant" as const, content: "" } }] }]],
    ["only usage", [{ choices: [], usage: { prompt_tokens: 1 } }]],
  ])("that fails after %s goes to the next route", async (_, pieces) => {
    const { done, sink, ledger } = failing(...pieces);
    await done;
    expect(sink.pieces[0]?.choices[0]?.delta).toMatchObject({ role: "assistant", content: "" });
    expect(sink.pieces[1]?.choices[0]?.delta).toEqual({ content: "from the second" });
    expect(ledger.settlement.plugin).toBe("second");
  });

  test("that ends without a word goes to the next route too", async () => {
    const empty = createPlugin({ chat: async () => fromIterable((async function* () {})()) });
    const second = createPlugin({ chat: async () => completionOf("Hi") }, { name: "second" });
    const { kernel, ledger } = createBench([empty, second]);
    await runCall(kernel, chatCall({ stream: true }, { sink: new Sink() }));
    expect(ledger.settlement.plugin).toBe("second");
  });

  test.each([
    ["breaks off", "end"],
    ["falls silent", "stall"],
  ])("that the provider began and that %s before its first word is not tried again", async (_, how) => {
    const eventsOf = async ({ upstream }: Call<ChatRequest>) =>
      fromIterable(
        (async function* () {
          for await (const { data } of await upstream.events("/chat", {})) yield JSON.parse(data) as ChatChunk;
        })(),
      );
    const fetch = fetchOf(({ init }) => {
      const live = liveBody(init);
      live.push('data: {"choices":[{"index":0,"delta":{"role":"assistant","content":""}}]}\n\n');
      if (how === "end") setImmediate(live.fail);
      return new Response(live.body, { headers: { "content-type": "text/event-stream" } });
    }, good);
    const [first, second] = [createPlugin({ chat: eventsOf }), createPlugin({ chat: eventsOf }, { name: "second" })];
    const { kernel, clock } = createBench([first, second], { fetch, bounds: { idleMsMax: 1000 } });
    const done = rejectionOf(runCall(kernel, chatCall({ stream: true }, { sink: new Sink() })));
    await settled();
    if (how === "stall") clock.pass(1000);
    expect((await done).code).toBe(how === "end" ? "upstream_error" : "upstream_timeout");
    expect(fetch.asked).toHaveLength(1);
  });

  test("is not tried again once a word has come", async () => {
    const { done, sink, ledger } = failing(textChunk("Hello"));
    await rejectionOf(done);
    expect(JSON.stringify(sink.pieces)).not.toContain("second");
    expect(ledger.settlement.plugin).toBe("acme");
  });
});
