import { afterAll, beforeAll, expect, test } from "bun:test";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { isLong } from "../../support/long.ts";
import { randomBelow } from "../../support/random.ts";

/** What a caller would have a server of the operator's ask or open, and names of it that a guard could miss. */
const addresses = [
  "http://169.254.169.254/latest/meta-data",
  "http://10.0.0.5:8080/admin?delete=1",
  "https://127.0.0.1/a.png",
  "https://localhost/a.png",
  "https://[::1]/a.png",
  "https://2130706433/a.png",
  "file:///etc/passwd",
  "FILE:/etc/passwd",
  "/etc/passwd",
  "//etc/passwd",
  "../secret.png",
  "~/.ssh/id_rsa",
  "ftp://10.0.0.5/a.png",
];

type Build = (url: string) => object;
const asking = (part: object) => ({ messages: [{ role: "user", content: [{ type: "text", text: "See" }, part] }] });
const image: Build = (url) => asking({ type: "image_url", image_url: { url } });
const source = (type: string, url: string) => asking({ type, source: { type: "url", url } });

/** Everything in a request that a server could take for an address. */
const requests: [path: string, model: string, build: Build][] = [
  ["/chat/completions", "vl", image],
  ["/chat/completions", "vl", (url) => ({ ...image(url), stream: true })],
  ["/chat/completions", "vl", (url) => asking({ type: "file", file: { file_data: url, filename: "a.pdf" } })],
  ["/chat/completions", "vl", (url) => asking({ type: "text", text: "See", image_url: { url } })],
  ["/chat/completions", "vl", (url) => ({ messages: [{ role: "user", content: "See" }], images: [url] })],
  ["/chat/completions", "claude-own", image],
  ["/responses", "vl", (url) => ({ input: [{ role: "user", content: [{ type: "input_image", image_url: url }] }] })],
  ["/responses", "vl", (url) => ({ input: [{ role: "user", content: [{ type: "input_file", file_url: url }] }] })],
  [
    "/responses",
    "vl",
    (url) => ({ input: [{ type: "image_generation_call", id: "ig_1", status: "completed", result: url }] }),
  ],
  ["/messages", "claude-own", (url) => ({ max_tokens: 9, ...source("image", url) })],
  ["/messages", "claude-own", (url) => ({ max_tokens: 9, ...source("document", url) })],
  ["/messages", "vl", (url) => ({ max_tokens: 9, ...source("image", url) })],
  ["/embeddings", "embed-own", (url) => ({ input: "See", ...image(url) })],
  ["/embeddings", "embed-own", (url) => ({ input: [url], modality: "image" })],
];

let gateway: InProcessGateway;
const seen: string[] = [];
const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const text = await request.text();
    if (request.method === "POST") seen.push(text);
    if (text.includes("Please answer")) {
      const message = { role: "assistant", content: "Here" };
      return Response.json({ choices: [{ index: 0, message, finish_reason: "stop" }], usage: { prompt_tokens: 1 } });
    }
    return Response.json({ error: { message: "No" } }, { status: 400 });
  },
});

beforeAll(async () => {
  const baseUrl = `http://127.0.0.1:${server.port}/v1`;
  const row = (id: string, capability = "chat") => ({
    id,
    upstreamId: id,
    capability,
    premium: false,
    ownedBy: "me",
    created: 0,
  });
  const manifest = { baseUrl, credential: "none" };
  gateway = await startInProcess({
    env: { SANDBOX: "off", FREE_TOKENS_PER_DAY: "1000000000", TOKENS_PER_MINUTE: "1000000000" },
    files: {
      "plugins/own.json": {
        name: "own",
        ...manifest,
        dialect: "openai",
        // A list of media is one of its own fields here, so that the addresses in it are looked at.
        requestFields: ["images"],
        options: { chat: {}, embeddings: {}, responses: {} },
        models: [row("vl"), row("embed-own", "embeddings")],
      },
      "plugins/listing.json": {
        name: "listing",
        ...manifest,
        dialect: "openai",
        requestFields: ["chat_template_kwargs"],
        options: { chat: { rename: { effort_budget: "thinking_budget" } } },
        models: [row("listed"), { ...row("listed-by-row"), options: { pass: ["data_sources"] } }],
      },
      "plugins/own-media.json": {
        name: "own-media",
        ...manifest,
        dialect: "openai",
        options: { images: {}, speech: {}, moderation: {}, rerank: {} },
        models: [
          row("draw-own", "images"),
          row("speak-own", "speech"),
          row("judge-own", "moderation"),
          row("rank-own", "rerank"),
        ],
      },
      "plugins/own-claude.json": {
        name: "own-claude",
        ...manifest,
        dialect: "anthropic",
        models: [{ ...row("claude-own"), contextTokens: 100_000 }],
      },
    },
  });
});
afterAll(async () => {
  await gateway?.stop();
  await server.stop(true);
});

test("no address that a caller names reaches a server of the operator's own", async () => {
  const wrong: unknown[] = [];
  for (const [path, model, build] of requests) {
    for (const url of addresses) {
      const before = seen.length;
      const response = await gateway.post(path, { model, ...build(url) });
      const { error } = (await response.json()) as { error: Record<string, unknown> };
      const isNamed = typeof error.param === "string" || path === "/messages";
      if (response.status !== 400 || !isNamed || seen.length > before)
        wrong.push([path, model, url, response.status, error]);
    }
  }
  expect(wrong).toEqual([]);
});

test("bytes and addresses in texts reach it", async () => {
  const before = seen.length;
  const text = `Read ${addresses[0]} and ${addresses[6]}`;
  await gateway.post("/chat/completions", { model: "vl", messages: [{ role: "user", content: text }] });
  await gateway.post("/chat/completions", { model: "vl", ...image("data:image/png;base64,iVBORw0KGgo=") });
  expect(seen.slice(before).map((body) => JSON.parse(body).messages)).toEqual([
    [{ role: "user", content: text }],
    [
      {
        role: "user",
        content: [
          { type: "text", text: "See" },
          { type: "image_url", image_url: { url: "data:image/png;base64,iVBORw0KGgo=" } },
        ],
      },
    ],
  ]);
});

/** Fields by which a server could be made to load a file, to jump its queue, to ask a neighbour, or to use its operator's identity. */
const steering = {
  kv_transfer_params: { remote_host: "10.0.0.5", remote_port: 1 },
  bootstrap_host: "10.0.0.5",
  bootstrap_port: 1,
  lora_path: "/srv/lora",
  chat_template: "{{ messages }}",
  chat_template_kwargs: { enable_thinking: false },
  priority: -100,
  data_sources: [
    { type: "azure_search", parameters: { authentication: { type: "system_assigned_managed_identity" } } },
  ],
  data_parallel_rank: 1,
  request_id: "req-of-another",
  id_slot: 1,
  custom_logit_processor: "gASV",
  extra_body: { lora_path: "/srv/lora" },
  api_base: "http://10.0.0.5",
};

const tool = { type: "function", function: { name: "look_up", description: "d", parameters: { type: "object" } } };
const chatBody = {
  messages: [
    { role: "system", content: "Be short" },
    { role: "user", name: "ada", content: [{ type: "text", text: "Hello" }] },
    {
      role: "assistant",
      content: null,
      tool_calls: [{ id: "c1", type: "function", function: { name: "look_up", arguments: "{}" } }],
    },
    { role: "tool", tool_call_id: "c1", content: "A kite" },
  ],
  tools: [tool],
  tool_choice: { type: "function", function: { name: "look_up" } },
  response_format: { type: "json_schema", json_schema: { name: "answer", schema: { type: "object" } } },
  stream_options: { include_usage: true },
};
/** Bodies of each capability, with the text that shows that the request arrived. */
const bodies: [path: string, body: Record<string, unknown>][] = [
  ["/chat/completions", { model: "vl", ...chatBody }],
  ["/chat/completions", { model: "claude-own", ...chatBody }],
  ["/completions", { model: "vl", prompt: "Hello", max_tokens: 9 }],
  [
    "/responses",
    {
      model: "vl",
      input: [
        { role: "user", content: [{ type: "input_text", text: "Hello" }] },
        { type: "function_call", call_id: "c1", name: "look_up", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: [{ type: "input_text", text: "A kite" }] },
      ],
      tools: [{ type: "function", name: "look_up", parameters: { type: "object" } }],
      reasoning: { effort: "low" },
      text: { format: { type: "text" } },
    },
  ],
  [
    "/messages",
    {
      model: "claude-own",
      max_tokens: 9,
      system: [{ type: "text", text: "Be short" }],
      messages: [
        { role: "user", content: [{ type: "text", text: "Hello", cache_control: { type: "ephemeral" } }] },
        { role: "assistant", content: [{ type: "tool_use", id: "c1", name: "look_up", input: {} }] },
        {
          role: "user",
          content: [{ type: "tool_result", tool_use_id: "c1", content: [{ type: "text", text: "A kite" }] }],
        },
      ],
      tools: [{ name: "look_up", input_schema: { type: "object" } }],
      tool_choice: { type: "auto" },
      metadata: { user_id: "ada" },
    },
  ],
  ["/messages", { model: "vl", max_tokens: 9, messages: [{ role: "user", content: "Hello" }] }],
  ["/embeddings", { model: "embed-own", input: "Hello" }],
  ["/images/generations", { model: "draw-own", prompt: "Hello" }],
  ["/audio/speech", { model: "speak-own", input: "Hello", response_format: "wav" }],
  ["/moderations", { model: "judge-own", input: [{ type: "text", text: "Hello" }] }],
  ["/rerank", { model: "rank-own", query: "Hello", documents: ["A kite"] }],
];

/** Members whose content is the caller's own: schemas, arguments, marks of a client. */
const ownContent = new Set(["parameters", "schema", "input_schema", "input", "metadata"]);

/** The objects of a body in which a name is one of the protocol, with the path that leads there. */
function objectsOf(value: unknown): Record<string, unknown>[] {
  if (Array.isArray(value)) return value.flatMap(objectsOf);
  if (typeof value !== "object" || value === null) return [];
  const inner = Object.entries(value).filter(([name, member]) => !ownContent.has(name) || Array.isArray(member));
  return [value as Record<string, unknown>, ...inner.flatMap(([, member]) => objectsOf(member))];
}

const sentFor = async (path: string, body: object) => {
  const before = seen.length;
  const response = await gateway.post(path, body);
  const answer = await response.text();
  return { sent: seen.slice(before).join(""), ignored: response.headers.get("x-modelgate-ignored") ?? "", answer };
};

test("no field that steers a server of the operator's own reaches it, whatever is asked for", async () => {
  const wrong: unknown[] = [];
  for (const [path, body] of bodies) {
    const { sent, answer } = await sentFor(path, { ...body, ...steering });
    if (!sent.includes("Hello")) wrong.push([path, body.model, "did not arrive", answer]);
    for (const name of Object.keys(steering)) {
      if (sent.includes(`"${name}"`)) wrong.push([path, body.model, name, "arrived"]);
    }
  }
  expect(wrong).toEqual([]);
});

test("no unknown name, wherever it stands in a body, reaches a server of the operator's own", async () => {
  const wrong: unknown[] = [];
  const below = randomBelow(7);
  for (const [path, body] of bodies) {
    for (let round = 0; round < (isLong ? 200 : 8); round++) {
      const tried = structuredClone(body);
      const places = objectsOf(tried);
      const names = Array.from({ length: 1 + below(3) }, () => `x${below(36 ** 6).toString(36)}_z`);
      for (const name of names) {
        const place = places[below(places.length)] as Record<string, unknown>;
        place[name] = [1, "a", { url: "http://10.0.0.5" }, [{ deep: { deeper: 1 } }]][below(4)];
      }
      const { sent, answer } = await sentFor(path, tried);
      if (names.some((name) => sent.includes(name))) wrong.push([path, tried, sent]);
      if (sent === "" && !answer.includes("unknown")) wrong.push([path, tried, "did not arrive", answer]);
    }
  }
  expect(wrong).toEqual([]);
});

test("a field that the manifest or the row lists arrives, and its neighbours do not", async () => {
  const body = { messages: [{ role: "user", content: "Please answer" }], ...steering, effort_budget: 9 };
  const byManifest = await sentFor("/chat/completions", { model: "listed", ...body });
  const byRow = await sentFor("/chat/completions", { model: "listed-by-row", ...body });
  expect(JSON.parse(byManifest.sent)).toEqual({
    model: "listed",
    messages: body.messages,
    temperature: 0.7,
    chat_template_kwargs: steering.chat_template_kwargs,
    thinking_budget: 9,
  });
  const { chat_template_kwargs: _, ...dropped } = steering;
  expect(byManifest.ignored.split(", ").toSorted()).toEqual(Object.keys(dropped).toSorted());
  expect(JSON.parse(byRow.sent)).toMatchObject({
    chat_template_kwargs: steering.chat_template_kwargs,
    data_sources: steering.data_sources,
  });
});

test("what clients of such servers shape their answers by arrives as it was written", async () => {
  const settings = {
    top_k: 40,
    min_p: 0.05,
    repetition_penalty: 1.1,
    guided_json: { type: "object", properties: { priority: { type: "number" } } },
    structured_outputs: { json: { type: "object", properties: { lora_path: { type: "string" } } } },
    response_format: { type: "json_schema", json_schema: { name: "a", schema: { properties: { x: {} } } } },
    logit_bias: { "50256": -100 },
    stop_token_ids: [1, 2],
    grammar: "root ::= 'a'",
    reasoning_effort: "low",
    mirostat: 2,
    repeat_penalty: 1.2,
  };
  const { sent, ignored } = await sentFor("/chat/completions", {
    model: "vl",
    messages: [{ role: "user", content: "Please answer" }],
    ...settings,
  });
  expect(JSON.parse(sent)).toMatchObject(settings);
  expect(ignored).toBe("");
});

test("no reference of a schema leads a server of the operator's own to an address, and those within the schema reach it", async () => {
  const refs = [
    "http://169.254.169.254/latest",
    "https://example.com/a.json",
    "file:///etc/passwd",
    "/etc/passwd",
    "a.json",
  ];
  const schemaOf = (ref: string) => ({
    type: "object",
    properties: { a: { items: [{ $ref: ref }] } },
    $defs: { b: {} },
  });
  const named = (schema: object) => ({ name: "f", schema });
  const places: [path: string, model: string, build: (schema: object) => object][] = [
    [
      "/chat/completions",
      "vl",
      (parameters) => ({ tools: [{ type: "function", function: { name: "f", parameters } }] }),
    ],
    ["/chat/completions", "vl", (schema) => ({ response_format: { type: "json_schema", json_schema: named(schema) } })],
    ["/chat/completions", "vl", (schema) => ({ guided_json: schema })],
    ["/chat/completions", "vl", (schema) => ({ structured_outputs: { json: schema } })],
    ["/responses", "vl", (parameters) => ({ tools: [{ type: "function", name: "f", parameters }] })],
    ["/responses", "vl", (schema) => ({ text: { format: { type: "json_schema", ...named(schema) } } })],
    ["/messages", "claude-own", (input_schema) => ({ max_tokens: 9, tools: [{ name: "f", input_schema }] })],
  ];
  const wrong: unknown[] = [];
  for (const [path, model, build] of places) {
    const prompt = path === "/responses" ? { input: "Hi" } : { messages: [{ role: "user", content: "Hi" }] };
    for (const ref of [...refs, "#/$defs/b"]) {
      const before = seen.length;
      const response = await gateway.post(path, { model, ...prompt, ...build(schemaOf(ref)) });
      const text = await response.text();
      const isSent = seen.length > before;
      const isRight = ref.startsWith("#")
        ? isSent
        : !isSent && text.includes("This model supports only references within the schema");
      if (!isRight) wrong.push([path, Object.keys(build({})), ref, response.status, text.slice(0, 200)]);
    }
  }
  expect(wrong).toEqual([]);
});

test("a voice that is an address or a path does not reach a server of the operator's own, and names do", async () => {
  const wrong: unknown[] = [];
  const build = (voice: string) => ({ model: "speak-own", input: "Hello", voice });
  for (const voice of [...addresses, "voices/../../etc/passwd", "alloy", "af_bella+af_sky", "clone:anna", "anna.wav"]) {
    const before = seen.length;
    const response = await gateway.post("/audio/speech", build(voice));
    const isName = ["alloy", "af_bella+af_sky", "clone:anna", "anna.wav"].includes(voice);
    const { error } = (await response.json()) as { error: { param?: string } };
    if (isName ? seen.length === before : seen.length > before || error.param !== "voice") wrong.push([voice, error]);
  }
  expect(wrong).toEqual([]);
});
