import { expect, test } from "bun:test";
import fc from "fast-check";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { builtIns } from "../../../plugins/index.ts";
import type { Capability } from "../../../src/contract/index.ts";
import { PromptCaching } from "../../../src/kernel/index.ts";
import type { Model, ProviderPlugin } from "../../../src/provider/index.ts";
import { runs } from "../../support/hostile.ts";
import { isLong } from "../../support/long.ts";
import { httpOf } from "../../unit/http/support.ts";
import { json } from "../../unit/kernel/fake-fetch.ts";
import { createBench } from "../../unit/kernel/support.ts";

const image = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const parameters = {
  type: "object",
  properties: { city: { type: "string", description: "Where", enum: ["Paris", "Rome"] } },
  required: ["city"],
};
const mark = { cache_control: { type: "ephemeral" } };

/** Requests with as many of the fields that a protocol has as may stand together. */
const bodies = {
  chat: {
    messages: [
      { role: "system", content: "Be brief" },
      {
        role: "user",
        name: "ada",
        content: [
          { type: "text", text: "What is this?", ...mark },
          { type: "image_url", image_url: { url: `data:image/png;base64,${image}`, detail: "low" } },
        ],
      },
      {
        role: "assistant",
        content: null,
        tool_calls: [{ id: "call_1", type: "function", function: { name: "weather", arguments: '{"city":"Rome"}' } }],
      },
      { role: "tool", tool_call_id: "call_1", content: "Rain" },
      { role: "user", content: "Thanks" },
    ],
    tools: [{ type: "function", function: { name: "weather", description: "Tells the weather", parameters } }],
    tool_choice: "auto",
    stop: ["END"],
    user: "u-1",
    metadata: { a: "b" },
    max_tokens: 50,
    temperature: 0.5,
  },
  messages: {
    system: [{ type: "text", text: "Be brief" }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is this?", ...mark },
          { type: "image", source: { type: "base64", media_type: "image/png", data: image } },
          { type: "document", source: { type: "text", media_type: "text/plain", data: "A page" }, title: "t" },
        ],
      },
      { role: "assistant", content: [{ type: "tool_use", id: "toolu_1", name: "weather", input: { city: "Rome" } }] },
      {
        role: "user",
        content: [{ type: "tool_result", tool_use_id: "toolu_1", content: [{ type: "text", text: "Rain" }] }],
      },
    ],
    tools: [{ name: "weather", description: "Tells the weather", input_schema: parameters, ...mark }],
    tool_choice: { type: "auto" },
    metadata: { user_id: "u-1" },
    stop_sequences: ["END"],
    max_tokens: 50,
  },
  responses: {
    instructions: "Be brief",
    input: [
      {
        role: "user",
        content: [
          { type: "input_text", text: "What is this?" },
          { type: "input_image", image_url: `data:image/png;base64,${image}`, detail: "low" },
        ],
      },
      { type: "function_call", call_id: "call_1", name: "weather", arguments: '{"city":"Rome"}' },
      { type: "function_call_output", call_id: "call_1", output: "Rain" },
      { role: "user", content: "Thanks" },
    ],
    tools: [{ type: "function", name: "weather", description: "Tells the weather", parameters, strict: false }],
    metadata: { a: "b" },
    user: "u-1",
    store: false,
    max_output_tokens: 50,
  },
  completions: { prompt: "Say hello", user: "u-1", stop: ["END"], max_tokens: 50 },
  embeddings: { input: ["A kite", "A dog"], user: "u-1" },
  images: { prompt: "A kite", n: 1, quality: "low", size: "1024x1024", user: "u-1" },
  speech: { input: "Hello", instructions: "Softly", voice: "alloy" },
};

const each = (usd: string) => ({ usd, per: 1_000_000 });
/** Only the prompt has a price, so that a hold and a charge tell its tokens. */
const prices: Partial<Record<Capability, Model["price"]>> = {
  chat: { inputToken: each("1"), outputToken: each("0") },
  embeddings: { inputToken: each("1") },
  images: { inputToken: each("1"), imageOutputToken: each("0") },
  speech: { inputToken: each("1"), audioOutputToken: each("0") },
};
const nanodollarsPerToken = 1000;
const imageTokensMax = 2000;

const answers: Partial<Record<string, unknown>> = {
  chat: { id: "x", choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }] },
  messages: {
    id: "m",
    type: "message",
    role: "assistant",
    content: [{ type: "text", text: "Hello" }],
    stop_reason: "end_turn",
  },
  responses: {
    id: "r",
    object: "response",
    status: "completed",
    output: [{ type: "message", role: "assistant", content: [{ type: "output_text", text: "Hello" }] }],
  },
  gemini: { candidates: [{ content: { parts: [{ text: "Hello" }] }, finishReason: "STOP" }] },
  embeddings: {
    data: [
      { index: 0, embedding: [0.1] },
      { index: 1, embedding: [0.1] },
    ],
  },
  images: { data: [{ b64_json: image }] },
};
const wav = Uint8Array.from([
  ...Buffer.from(
    "RIFF\x2c\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0\x80\x3e\0\0\0\x7d\0\0\x02\0\x10\0data\x08\0\0\0",
    "latin1",
  ),
  ...new Array(8).fill(0),
]);

/** The events of speech, of which the last reports nothing. */
const spoken = [
  { type: "speech.audio.delta", audio: Buffer.from(wav).toString("base64") },
  { type: "speech.audio.done" },
]
  .map((event) => `data: ${JSON.stringify(event)}\n\n`)
  .join("");

/** A provider that answers without reporting usage, and what it was sent. */
function serve(name: string, answer: unknown, capability: Capability) {
  const plugin = builtIns.find((one) => one.name === name) as ProviderPlugin;
  const row = plugin.models.find((one) => one.capability === capability && one.price?.inputToken !== undefined);
  const model = {
    ...(row as Model),
    id: "model-1",
    aliases: undefined,
    retiredOn: undefined,
    features: undefined,
    contextTokens: 20_000_000,
    inputTokensMax: undefined,
    imageTokensMax,
    premium: true,
    price: prices[capability],
  } as unknown as Model;
  const sent: { url: string; body: unknown }[] = [];
  const bench = createBench([{ ...plugin, models: [model] }], {
    fetch: async (url, init) => {
      // A count is free.
      if (!/count_tokens|input_tokens|countTokens/.test(url)) sent.push({ url, body: readSent(init.body as string) });
      return capability === "speech"
        ? new Response(spoken, { headers: { "content-type": "text/event-stream" } })
        : json(answer);
    },
  });
  const { post } = httpOf([{ ...plugin, models: [model] }], { ...bench, now: bench.clock.now });
  /** Forgets the request before: to make all of it anew takes ten times as long as a request. */
  const forget = () => {
    Object.assign(bench.kernel, { promptCaching: new PromptCaching() });
    for (const list of [sent, bench.ledger.claims, bench.ledger.settlements]) list.length = 0;
  };
  return { post, ledger: bench.ledger, sent, forget };
}

/** A body as it was sent: its numbers are texts of their digits. */
function readSent(text: string): unknown {
  type Source = { source?: string };
  const toDigits = (_: string, value: unknown, context?: Source) =>
    typeof value === "number" ? context?.source : value;
  return JSON.parse(text, toDigits as (name: string, value: unknown) => unknown);
}

/** A body as JSON, with numbers of more digits than the language has. */
function writeBody(body: object): string {
  return JSON.stringify(body).replace(/"@digits (\d+)"/g, "$1");
}

/** Where each protocol takes the bytes of an image. A provider reads an image there, and text everywhere else. */
const imagePlaces = [
  /^messages\.\d+\.content\.\d+\.image_url\.url$/,
  /^input\.\d+\.(content|output)\.\d+\.image_url$/,
  /^messages\.\d+\.content\.\d+(\.content\.\d+)?\.source\.data$/,
  /^contents\.\d+\.parts\.\d+\.inlineData\.data$/,
];

/** What a provider bills that reads every string and number of a body: by either vocabulary, and its images. */
function read(body: unknown) {
  let [most, usual, images] = [0, 0, 0];
  const visit = (value: unknown, path: string): void => {
    if (typeof value === "string" && imagePlaces.some((place) => place.test(path)) && value.endsWith(image)) images++;
    else if (typeof value === "string" || typeof value === "number") {
      const options = { disallowedSpecial: new Set<string>() };
      const tokens = o200k(String(value), options);
      usual += tokens;
      most += Math.max(tokens, cl100k(String(value), options));
    } else if (typeof value === "object" && value !== null) {
      for (const [name, member] of Object.entries(value)) visit(member, path === "" ? name : `${path}.${name}`);
    }
  };
  // The name of the model is the gateway's own.
  visit({ ...(body as object), model: undefined }, "");
  return { most: most + images * imageTokensMax, usual };
}

/** All places of a value, by their paths. */
function pathsOf(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== "object" || value === null) return [[...path]];
  const members = Array.isArray(value) ? value.map((member, at) => [at, member] as const) : Object.entries(value);
  return [[...path], ...members.flatMap(([name, member]) => pathsOf(member, [...path, name]))];
}

/** A text of many tokens: rare characters, words, digits or letters at random. */
const texts = fc
  .tuple(
    fc.constantFrom("㐀㐁㐂㑃㒄", "The quick brown fox. ", "9081726354", "QzXv", '\\"\n\t', "नमस्ते "),
    fc.integer({ min: 50, max: 300 }),
  )
  .map(([text, times]) => text.repeat(times));

/** How a prompt hides: as it is, in structures, behind the kinds of media, in numbers, as a name. */
const disguises: ((text: string) => unknown)[] = [
  (text) => text,
  (text) => [text],
  (text) => ({ note: text }),
  (text) => ({ deep: [{ deep: [{ deep: [text] }] }] }),
  (text) => ({ [text.slice(0, 2000)]: true }),
  (text) => ({ type: "image", text }),
  (text) => ({ type: "image_url", image_url: { url: text } }),
  (text) => ({ type: "input_image", image_url: `data:image/png;base64,${text}` }),
  (text) => ({ type: "image", source: { type: "base64", media_type: "image/png", data: text } }),
  (text) => ({ type: "text", text, cache_control: { type: text } }),
  (text) => ({ cache_control: { type: "ephemeral", ttl: "5m", note: text } }),
  (text) => ({ type: "input_audio", input_audio: { data: text, format: "wav" } }),
  (text) => Array.from({ length: Math.min(text.length, 1000) }, (_, at) => (at * 7919) / 7),
  (text) => `@digits 1${Array.from(text, (char) => char.charCodeAt(0) % 10).join("")}`,
  (text) => ({ list: [`@digits 1${"0918273645".repeat(text.length % 50)}`] }),
];

/** A body with a prompt hidden at any of its places: in the place of what was there, or as a further member. */
function hide(body: object, place: number, name: string | undefined, hidden: unknown): object {
  const copy = structuredClone(body) as Record<string, unknown>;
  const paths = pathsOf(copy).filter((path) => path.length > 0 || name !== undefined);
  const path = paths[place % paths.length] as (string | number)[];
  let holder: Record<string | number, unknown> = copy;
  for (const part of path.slice(0, -1)) holder = holder[part] as typeof holder;
  const last = path.at(-1);
  const target = last === undefined ? copy : holder[last];
  if (Array.isArray(target) && name !== undefined) target.push(hidden);
  else if (typeof target === "object" && target !== null && name !== undefined)
    Object.assign(target, { [name]: hidden });
  else if (last !== undefined) holder[last] = hidden;
  return copy;
}

const names = [
  "x",
  "documents",
  "functions",
  "refusal",
  "response_format",
  "function_call",
  "suffix",
  "input",
  "thinking",
];

const endpoints: [
  endpoint: string,
  path: string,
  provider: string,
  capability: Capability,
  answer: unknown,
  body: object,
][] = [
  ["chat", "chat/completions", "openai", "chat", answers.chat, bodies.chat],
  ["chat", "chat/completions", "groq", "chat", answers.chat, bodies.chat],
  ["chat", "chat/completions", "anthropic", "chat", answers.messages, bodies.chat],
  ["chat", "chat/completions", "gemini", "chat", answers.gemini, bodies.chat],
  ["messages", "messages", "anthropic", "chat", answers.messages, bodies.messages],
  ["messages", "messages", "groq", "chat", answers.chat, bodies.messages],
  ["messages", "messages", "gemini", "chat", answers.gemini, bodies.messages],
  ["responses", "responses", "openai", "chat", answers.responses, bodies.responses],
  ["responses", "responses", "groq", "chat", answers.chat, bodies.responses],
  ["responses", "responses", "anthropic", "chat", answers.messages, bodies.responses],
  ["completions", "completions", "groq", "chat", answers.chat, bodies.completions],
  ["embeddings", "embeddings", "openai", "embeddings", answers.embeddings, bodies.embeddings],
  ["images", "images/generations", "openai", "images", answers.images, bodies.images],
  ["speech", "audio/speech", "openai", "speech", undefined, bodies.speech],
];

test.each(endpoints)(
  "a prompt that is hidden anywhere in a request of %s is held and estimated: POST /%s to %s",
  async (_, path, provider, capability, answer, body) => {
    let [served, tried] = [0, 0];
    const { post, ledger, sent, forget } = serve(provider, answer, capability);
    const property = fc.asyncProperty(
      fc.nat(),
      fc.option(fc.constantFrom(...names), { nil: undefined }),
      fc.constantFrom(...disguises),
      texts,
      async (place, name, disguise, text) => {
        tried++;
        forget();
        const response = await post(path, writeBody({ ...hide(body, place, name, disguise(text)), model: "model-1" }));
        await response.text();
        // Refused by its shape: nothing was sent, so nothing has to be paid.
        if (sent.length === 0) return;
        served++;
        const bills = sent.map((one) => read(one.body));
        const most = bills.reduce((sum, bill) => sum + bill.most, 0);
        const usual = bills.reduce((sum, bill) => sum + bill.usual, 0);
        const held = ledger.claims.reduce((sum, { holdNanodollars }) => sum + holdNanodollars, 0);
        expect(held / nanodollarsPerToken).toBeGreaterThanOrEqual(most);
        const charged = ledger.settlements.reduce((sum, { costNanodollars = 0 }) => sum + costNanodollars, 0);
        // A long text of speech is sent in several requests, which are one call.
        expect([...new Set(ledger.settlements.map(({ usageSource }) => usageSource))]).toEqual(["estimated"]);
        expect(charged / nanodollarsPerToken).toBeGreaterThanOrEqual(0.9 * usual);
      },
    );
    await fc.assert(property, { ...runs(15), ...(isLong ? {} : { seed: 1 }) });
    expect(served / tried).toBeGreaterThan(0.1);
  },
);
