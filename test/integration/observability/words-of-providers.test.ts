import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fillWallet, type Gateway, startGateway } from "../../support/gateway.ts";
import { ownerCookie } from "../../support/owner-cookie.ts";
import { until } from "../../support/until.ts";
import { fixture } from "../alerts/fixture.ts";

/** A text that a provider may have from a prompt. */
const wordOf = (place: string) => `zebra-${place}-quagga`;
const eventStream = { "content-type": "text/event-stream" };
const frame = (data: unknown) => `data: ${typeof data === "string" ? data : JSON.stringify(data)}\n\n`;
const begun = frame({ choices: [{ index: 0, delta: { role: "assistant", content: "Hello" } }] });
const whole = (changes: object = {}) => ({
  id: wordOf("id"),
  model: wordOf("name-of-model"),
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
  ...changes,
});

interface Case {
  readonly answer: (word: string) => Response;
  readonly isStreamed?: boolean;
  /** Whether the words are for the client too. */
  readonly isForClient?: boolean;
  /** Whether nothing keeps the words: they are no message. */
  readonly isDropped?: boolean;
}

const errorOf = (word: string, more: object = {}) => ({ error: { message: `You said ${word}`, ...more } });

/** Places where a provider can put words. */
const places: Readonly<Record<string, Case>> = {
  "message-400": { answer: (word) => Response.json(errorOf(word), { status: 400 }), isForClient: true },
  "message-404": { answer: (word) => Response.json(errorOf(word), { status: 404 }), isForClient: true },
  "message-401": { answer: (word) => Response.json(errorOf(word), { status: 401 }) },
  "message-429": { answer: (word) => Response.json(errorOf(word), { status: 429 }) },
  "message-503": { answer: (word) => Response.json(errorOf(word), { status: 503 }) },
  "code-and-type": {
    answer: (word) =>
      Response.json({ error: { message: `No ${word}`, code: word, type: word, param: word } }, { status: 400 }),
    isForClient: true,
  },
  "html-body": { answer: (word) => new Response(`<h1>${word}</h1>`, { status: 502 }), isDropped: true },
  "no-json": { answer: (word) => new Response(word), isDropped: true },
  "broken-json": { answer: (word) => new Response(`{"choices": [${word}`), isDropped: true },
  "wrong-form": { answer: (word) => Response.json({ choices: word, usage: word }), isDropped: true },
  "status-text": {
    answer: (word) => new Response("{}", { status: 503, statusText: word }),
    isDropped: true,
  },
  headers: {
    answer: (word) =>
      new Response("{}", {
        status: 429,
        headers: {
          "retry-after": word,
          "x-request-id": word,
          server: word,
          "content-type": word,
          "x-ratelimit-reset": word,
        },
      }),
    isDropped: true,
  },
  redirect: {
    answer: (word) =>
      new Response(null, { status: 302, headers: { location: `http://user:${word}@127.0.0.1/${word}` } }),
    isDropped: true,
  },
  usage: {
    answer: (word) => Response.json(whole({ usage: { prompt_tokens: word, completion_tokens: { [word]: 1 } } })),
    isDropped: true,
  },
  "finish-reason": {
    answer: (word) =>
      Response.json(
        whole({ choices: [{ index: 0, message: { role: word, content: "Hi" }, finish_reason: word }], [word]: word }),
      ),
  },
  "event-error": {
    answer: (word) => new Response(begun + frame(errorOf(word)), { headers: eventStream }),
    isStreamed: true,
    isForClient: true,
  },
  "first-event-error": {
    answer: (word) => new Response(frame(errorOf(word, { code: 400 })), { headers: eventStream }),
    isStreamed: true,
    isForClient: true,
  },
  "broken-event": {
    answer: (word) => new Response(begun + frame(`{"choices": ${word}`), { headers: eventStream }),
    isStreamed: true,
    isDropped: true,
  },
  "name-of-event": {
    answer: (word) => new Response(`event: ${word}\nid: ${word}\n${begun}`, { headers: eventStream }),
    isStreamed: true,
    isDropped: true,
  },
};

/** Places where a plugin with code that was dropped in can put words. The code has `word`, `send` and `UpstreamError`. */
const inPlugins: Readonly<Record<string, string>> = {
  "plugin-before": "throw new Error(word);",
  "plugin-after": "await send(); throw new TypeError('Bad ' + word);",
  "plugin-name": "await send(); const error = new Error(word); error.name = word; throw error;",
  "plugin-no-error": "await send(); throw word;",
  "plugin-cause": "await send(); throw new Error('Bad', { cause: new Error(word) });",
  "plugin-upstream-error": "await send(); throw new UpstreamError('bad_response', word, { cause: new Error(word) });",
  "plugin-address": "await call.upstream.json('http://[' + word + ']/', {}); return answer;",
  "plugin-host": "await call.upstream.json('https://' + word + '.example/', {}); return answer;",
  "plugin-parse": "await send(); JSON.parse(word);",
  "plugin-warning": "await send(); call.warn(word); return answer;",
  "plugin-stream": "await send(); return { events: failing(word), push: (event) => [event], end: () => [] };",
};
/** Those of whose words the operator has nothing, or a part: they never were a message. */
const plainOnes: readonly string[] = ["plugin-address", "plugin-host", "plugin-parse"];

const provider = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    if (new URL(request.url).pathname === "/v1/models") return new Response(`${wordOf("list")} {`);
    const { model } = (await request.json()) as { model: string };
    return places[model]?.answer(wordOf(model)) ?? Response.json(whole());
  },
});
const received: string[] = [];
const collector = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    received.push(await request.text());
    return Response.json({});
  },
});
const home = mkdtempSync(join(tmpdir(), "modelgate-words-"));
let gateway: Gateway;
let cookie: string;

beforeAll(async () => {
  const baseUrl = `http://127.0.0.1:${provider.port}/v1`;
  const rows = (names: readonly string[]) => names.map((id) => ({ id, premium: false }));
  mkdirSync(join(home, "plugins"), { recursive: true });
  // Each is its own provider, so that no pause of one keeps another from being asked.
  for (const place of Object.keys(places)) {
    const manifest = { baseUrl, dialect: "openai", credential: "none", models: rows([place]) };
    writeFileSync(join(home, `plugins/${place}.json`), JSON.stringify(manifest));
  }
  const free = { inputToken: { usd: "0", per: 1 }, outputToken: { usd: "0", per: 1 } };
  const lister = {
    ...{ baseUrl, dialect: "openai", credential: "none", models: rows(["listed"]) },
    unlisted: { premium: false, price: free },
  };
  writeFileSync(join(home, "plugins/lister.json"), JSON.stringify(lister));
  for (const [place, body] of Object.entries(inPlugins)) {
    mkdirSync(join(home, "plugins", place));
    writeFileSync(
      join(home, "plugins", place, "index.ts"),
      `import { definePlugin, UpstreamError } from "modelgate/plugin";
      const word = ${JSON.stringify(wordOf(place))};
      const answer = { choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }] };
      async function* failing(word) { yield { choices: [{ index: 0, delta: { content: "Hello" } }] }; throw new Error(word); }
      const row = { id: "${place}", upstreamId: "${place}", capability: "chat", premium: false, ownedBy: "me", created: 0 };
      export default definePlugin({
        name: "${place}", baseUrl: "${baseUrl}", credential: "none", models: [row],
        handlers: { chat: async (call) => {
          const send = () => call.upstream.json("/chat/completions", { model: "any" });
          ${body}
        } },
      });`,
    );
  }
  gateway = await startGateway({
    home,
    env: {
      SANDBOX: "off",
      LOG_LEVEL: "debug",
      OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${collector.port}`,
      OTEL_METRICS_EXPORTER: "otlp",
      OTEL_LOGS_EXPORTER: "otlp",
    },
  });
  await fillWallet(gateway);
  cookie = await ownerCookie(gateway);
});
afterAll(async () => {
  await provider.stop(true);
  await collector.stop(true);
  rmSync(home, { recursive: true, force: true });
});

/** The row of a call in the request log, as administrators see it. */
async function readRow(id: string): Promise<string> {
  let text = "";
  await until(async () => {
    const url = `${gateway.origin}/dashboard/api/requests/${id}`;
    const response = await fetch(url, { headers: { cookie } });
    text = await response.text();
    return response.ok;
  });
  return text;
}

test("words of a provider are in the request log, and in no line, metric, trace or health", async () => {
  const said: Record<string, string> = {};
  const kept: Record<string, string> = {};
  const names = [...Object.keys(places), ...Object.keys(inPlugins)];
  for (const place of names) {
    const stream = places[place]?.isStreamed === true || place === "plugin-stream";
    const body = { model: place, stream, messages: [{ role: "user", content: `Say ${wordOf("prompt")}` }] };
    const response = await gateway.post("/chat/completions", body);
    said[place] = await response.text();
    kept[place] = await readRow(response.headers.get("x-request-id") as string);
  }

  const forClient = names.filter((place) => places[place]?.isForClient);
  expect(forClient.filter((place) => !said[place]?.includes(wordOf(place)))).toEqual([]);
  const forOperator = names.filter((place) => !places[place]?.isDropped && !plainOnes.includes(place));

  expect(forOperator.filter((place) => !kept[place]?.includes(wordOf(place)))).toEqual([]);

  // A test of a connection and the page of providers are for administrators, and show the words; the log does not.
  const tested = await fetch(`${gateway.origin}/v1/organization/providers/message-503/test`, {
    method: "POST",
    headers: { cookie, origin: gateway.origin, "content-type": "application/json" },
    body: "{}",
  });
  expect(await tested.text()).toContain(wordOf("message-503"));
  const inPlugin = await fetch(`${gateway.origin}/v1/organization/providers/plugin-after/test`, {
    method: "POST",
    headers: { cookie, origin: gateway.origin, "content-type": "application/json" },
    body: "{}",
  });
  await inPlugin.text();
  const open = await Promise.all(
    ["/readyz", "/healthz", "/metrics"].map(async (path) => (await fetch(gateway.origin + path)).text()),
  );
  const status = await (await fetch(`${gateway.origin}/dashboard/api/status`, { headers: { cookie } })).text();
  expect(await gateway.stop()).toBe(0);
  const log = gateway.stderr() + gateway.stdout();
  expect(log).toContain('"event":"plugin_failed"');
  expect(received.join("")).toContain("modelgate.reason");
  const leaks = [...log.split("\n"), ...received, ...open, status]
    .filter((text) => /zebra/.test(text))
    .map((text) => text.slice(Math.max(0, text.indexOf("zebra") - 500), text.indexOf("zebra") + 80));
  expect(leaks).toEqual([]);
}, 120_000);

test("an alert about a provider that fails has its kind of failure and status, and not its words", async () => {
  const { channel, round, health } = await fixture();
  await channel();
  const failure = { kind: "overloaded", status: 503, message: wordOf("alert"), model: "acme/chat" } as const;
  for (let count = 0; count < 20; count++) health.record("acme", undefined, failure);
  const test = { isOk: false, error: wordOf("test"), kind: "overloaded" } as const;
  const [text = ""] = [...(await round()), ...(await round()), ...(await round())];
  health.recordTest("acme", undefined, { ms: 1, model: undefined, note: undefined, ...test });
  expect(text).toContain("overloaded (status 503)");
  expect(text).not.toContain("zebra");
});
