import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { createLog } from "../../../src/observability/log.ts";
import { createPolicyRule, eachAccount, listPolicyRules, removePolicyRule } from "../../../src/tenants/index.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { enterAs } from "../../support/session-cookie.ts";
import { until } from "../../support/until.ts";
import { makeBench } from "../cli/fixture.ts";

const word = "Falcon";
const said = `The project ${word} begins on Monday, and ${word}s fly.`;
const masked = said.replaceAll(word, "[project]");

/** What the provider answers, in these pieces when it streams, and the requests that it got. */
const upstream: {
  text: string;
  piece: number;
  /** The arguments of a tool call, in place of text. */
  called?: string | undefined;
  seen: { messages: { content: string }[] }[];
} = {
  text: said,
  piece: 5,
  seen: [],
};
const usage = { prompt_tokens: 10, completion_tokens: 20, total_tokens: 30 };

function cut(text: string, length: number): string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length; at += length) pieces.push(text.slice(at, at + length));
  return pieces;
}

const server = Bun.serve({
  hostname: "127.0.0.1",
  port: 0,
  async fetch(request) {
    const body = (await request.json()) as (typeof upstream.seen)[number] & { stream?: boolean };
    upstream.seen.push(body);
    const head = { id: "chatcmpl-1", created: 1, model: "m" };
    if (body.stream !== true) {
      const message = { role: "assistant", content: upstream.text };
      return Response.json({
        ...head,
        object: "chat.completion",
        choices: [{ index: 0, message, finish_reason: "stop" }],
        usage,
      });
    }
    const chunk = (delta: object, finish: string | null = null, more: object = {}) =>
      `data: ${JSON.stringify({ ...head, object: "chat.completion.chunk", choices: [{ index: 0, delta, finish_reason: finish }], ...more })}\n\n`;
    const call = (args: string, at: number) => ({
      tool_calls: [
        {
          index: 0,
          ...(at === 0 && { id: "call_Qm4vT9xZ", type: "function" }),
          function: { ...(at === 0 && { name: "look" }), arguments: args },
        },
      ],
    });
    const pieces = cut(upstream.called ?? upstream.text, upstream.piece).map((piece, at) =>
      chunk(upstream.called === undefined ? { content: piece } : call(piece, at)),
    );
    const text = [
      chunk({ role: "assistant", content: "" }),
      ...pieces,
      chunk({}, "stop", { usage }),
      "data: [DONE]\n\n",
    ];
    return new Response(text.join(""), { headers: { "content-type": "text/event-stream" } });
  },
});

const lines: string[] = [];
let gateway: InProcessGateway;

beforeAll(async () => {
  const model = {
    id: "acme/chat",
    premium: true,
    price: { inputToken: { usd: "1", per: 1_000_000 }, outputToken: { usd: "1", per: 1_000_000 } },
    reasoning: false,
    contextTokens: 10_000,
    outputTokensMax: 1000,
  };
  gateway = await startInProcess({
    env: { ACME_API_KEY: "sk-acme", METRICS: "on", CONTENT_LOG: "all" },
    log: createLog("info", (text) => void lines.push(...text.split("\n"))),
    files: {
      "plugins/acme.json": {
        name: "acme",
        baseUrl: `http://127.0.0.1:${server.port}/v1`,
        dialect: "openai",
        models: [model],
      },
    },
  });
});
afterAll(async () => {
  await gateway.stop();
  server.stop(true);
});

const by = commandLine;
const snapshot = () => gateway.app.kernel.registry;
/** Waits until the rules in force are about these policies. */
const applies = (...names: string[]) =>
  until(async () => {
    const rules = await listPolicyRules(gateway.store);
    const applied = snapshot().policies?.find({ accountId: "any", keyId: "any" }, "acme/chat") ?? [];
    return applied.length === rules.length && names.every((name) => applied.some((one) => one.name === name));
  });

/** Puts policies into the plugins folder, and has them apply to all calls. */
async function usePolicies(policies: Readonly<Record<string, string>>, onFailure: "closed" | "open" = "closed") {
  for (const [name, code] of Object.entries(policies)) writePolicy(name, code);
  await until(() => Object.keys(policies).every((name) => lines.some((line) => isLoaded(line, name))));
  for (const [position, policy] of Object.keys(policies).entries()) {
    const rule = { by, accountId: eachAccount, policy, position, on_failure: onFailure };
    await createPolicyRule(gateway.store, rule, Date.now());
  }
  await applies(...Object.keys(policies));
}

const isLoaded = (line: string, name: string) => line.includes("policy_loaded") && line.includes(`"${name}"`);

function writePolicy(name: string, code: string): void {
  const text = `import { definePolicy } from "modelgate/plugin";\nexport default definePolicy({ name: "${name}", version: "1", ${code} });`;
  writeFileSync(join(gateway.home, "plugins", `${name}.ts`), text);
}

beforeEach(async () => {
  Object.assign(upstream, { text: said, piece: 5, called: undefined, seen: [] });
  for (const { id } of await listPolicyRules(gateway.store)) {
    await removePolicyRule(gateway.store, { by, accountId: eachAccount, id }, Date.now());
  }
  await until(() => snapshot().policies === undefined);
  lines.length = 0;
});

const mask = `holdBackChars: 16, answer: (texts) => {
  const found = texts.filter(({ text }) => text.includes("${word}"));
  const replaced = found.map(({ path, text }) => ({ path, text: text.replaceAll("${word}", "[project]") }));
  const count = found.reduce((sum, { text }) => sum + text.split("${word}").length - 1, 0);
  return found.length === 0 ? { result: "allow" } : { result: "replace", texts: replaced, label: "project", count };
}`;
const block = `holdBackChars: 16, answer: (texts) =>
  texts.some(({ text }) => text.includes("${word}")) ? { result: "deny", label: "project" } : { result: "allow" }`;

/** A client of each protocol: its request, the text of an answer, and how the answer ended. */
const clients = {
  chat: {
    path: "/chat/completions",
    body: (stream: boolean, content: string) => ({ model: "acme/chat", stream, messages: [{ role: "user", content }] }),
    // biome-ignore lint/suspicious/noExplicitAny: each protocol has a shape of its own
    whole: ({ choices: [choice] }: any) => ({ text: choice.message.content, end: choice.finish_reason }),
    // biome-ignore lint/suspicious/noExplicitAny: each protocol has a shape of its own
    streamed: (events: any[]) => ({
      text: events.map(({ choices }) => choices[0]?.delta.content ?? "").join(""),
      end: events.flatMap(({ choices }) => choices[0]?.finish_reason ?? []).at(-1),
    }),
    refused: "content_filter",
    finished: "stop",
  },
  responses: {
    path: "/responses",
    body: (stream: boolean, input: string) => ({ model: "acme/chat", stream, input }),
    // biome-ignore lint/suspicious/noExplicitAny: each protocol has a shape of its own
    whole: (response: any) => ({
      // biome-ignore lint/suspicious/noExplicitAny: each protocol has a shape of its own
      text: response.output.flatMap(({ content = [] }: any) => content.map((part: any) => part.text ?? "")).join(""),
      end: response.incomplete_details?.reason ?? response.status,
    }),
    // biome-ignore lint/suspicious/noExplicitAny: each protocol has a shape of its own
    streamed: (events: any[]) => ({
      text: events.map(({ type, delta }) => (type === "response.output_text.delta" ? delta : "")).join(""),
      end: events.at(-1).response.incomplete_details?.reason ?? events.at(-1).response.status,
    }),
    refused: "content_filter",
    finished: "completed",
  },
  messages: {
    path: "/messages",
    body: (stream: boolean, content: string) => ({
      model: "acme/chat",
      stream,
      max_tokens: 100,
      messages: [{ role: "user", content }],
    }),
    // biome-ignore lint/suspicious/noExplicitAny: each protocol has a shape of its own
    whole: ({ content, stop_reason }: any) => ({
      text: content.map(({ text = "" }) => text).join(""),
      end: stop_reason,
    }),
    // biome-ignore lint/suspicious/noExplicitAny: each protocol has a shape of its own
    streamed: (events: any[]) => ({
      text: events.map(({ type, delta }) => (type === "content_block_delta" ? (delta.text ?? "") : "")).join(""),
      end: events.findLast(({ type }) => type === "message_delta")?.delta.stop_reason,
    }),
    refused: "refusal",
    finished: "end_turn",
  },
} as const;
const protocols = Object.keys(clients) as (keyof typeof clients)[];

async function ask(protocol: keyof typeof clients, stream: boolean, content = "Hello") {
  const { path, body, whole, streamed } = clients[protocol];
  const response = await gateway.post(path, body(stream, content));
  const id = response.headers.get("x-request-id") as string;
  if (response.status !== 200)
    return {
      status: response.status,
      id,
      error: ((await response.json()) as { error: { code: string; type: string; message: string } }).error,
    };
  if (!stream) return { status: 200, id, ...whole(await response.json()) };
  const events = (await response.text())
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line) => JSON.parse(line.slice(6)));
  return { status: 200, id, ...streamed(events) };
}

/** The row of a call, once it is written. */
async function rowOf(id: string) {
  const read = () => gateway.store.db.selectFrom("call_rows").selectAll().execute();
  let row: Awaited<ReturnType<typeof read>>[number] | undefined;
  await until(async () => {
    const rows = await read();
    row = rows.at(-1);
    return row !== undefined;
  });
  return { ...row, id, detail: JSON.parse((row as unknown as { detail: string | null }).detail ?? "{}") };
}

/** What policies did in the last call: on the dashboard, by the management API, and in the text of the command. */
async function readShown() {
  const origin = new URL(gateway.baseUrl).origin;
  const accountId = (await gateway.app.accounts.find("test@example.org"))?.id as string;
  const cookie = await enterAs(gateway.store, { accountId, role: "member" }, Date.now());
  const read = async (path: string, headers: Record<string, string>) =>
    (await (await fetch(`${origin}${path}`, { headers })).json()) as { policies: unknown; data: { id: string }[] };
  const newest = await read("/dashboard/api/requests?status=ok", { cookie });
  const id = newest.data[0]?.id as string;
  const { key } = await createAdminKey(gateway.store, by, { name: "test", scopes: ["usage:read"] }, Date.now());
  const [page, api] = await Promise.all([
    read(`/dashboard/api/requests/${id}`, { cookie }),
    read(`/api/v1/organization/requests/${id}`, { authorization: `Bearer ${key}` }),
  ]);
  const { stdout } = await makeBench({ env: { MODELGATE_HOME: gateway.home } }).run("request", "show", id);
  return [page.policies, api.policies, stdout.split("\n").flatMap((line) => /^policies +(.*)$/.exec(line)?.[1] ?? [])];
}

describe.each(protocols)("an answer by the protocol %s", (protocol) => {
  const { refused, finished } = clients[protocol];

  test("that a policy denies ends as a refusal, without the text, and is paid", async () => {
    await usePolicies({ [`block-${protocol}`]: block });
    for (const stream of [false, true]) {
      const answer = await ask(protocol, stream);
      expect(answer).toMatchObject({ status: 200, end: refused });
      expect((answer as { text: string }).text).not.toContain(word.slice(0, 3));
      const { detail, cost_nanodollars: charged } = await rowOf(answer.id);
      expect(detail).toMatchObject({
        policies: [{ policy: `block-${protocol}`, phase: "answer", result: "deny", label: "project" }],
      });
      expect(Number(charged)).toBeGreaterThan(0);
    }
    await until(() => lines.filter((line) => line.includes(`"result":"deny"`)).length === 2);
    const shown = [{ policy: `block-${protocol}`, phase: "answer", result: "deny", label: "project", count: 1 }];
    expect(await readShown()).toEqual([shown, shown, [`block-${protocol} refused the answer (project, 1)`]]);
    expect(lines.join("\n")).not.toContain(word);
  });

  test("that a policy masks is the same whole and streamed, wherever its pieces are cut", async () => {
    await usePolicies({ [`mask-${protocol}`]: mask });
    expect(await ask(protocol, false)).toMatchObject({ text: masked, end: finished });
    for (let piece = 1; piece <= said.length; piece++) {
      upstream.piece = piece;
      expect({ piece, ...(await ask(protocol, true)) }).toMatchObject({ piece, text: masked, end: finished });
    }
    const { detail } = await rowOf("");
    expect(detail.policies).toEqual(
      [
        { policy: `mask-${protocol}`, phase: "answer", result: "allow", count: 0 },
        { policy: `mask-${protocol}`, phase: "answer", result: "replace", label: "project", count: 2 },
      ].filter(({ result }) => result !== "allow"),
    );
  });

  test("to a request that a policy denies is 400 in its envelope, and costs nothing", async () => {
    await usePolicies({
      [`ask-${protocol}`]: `request: (texts) =>
        texts.some(({ text, role }) => role === "user" && text.includes("${word}"))
          ? { result: "deny", message: "Do not name projects", label: "project" } : { result: "allow" }`,
    });
    const { error, status } = await ask(protocol, false, `About ${word}`);
    expect(status).toBe(400);
    expect(error).toMatchObject({ code: "content_policy_violation", message: "Do not name projects" });
    expect(upstream.seen).toEqual([]);
    expect(await ask(protocol, true, "About birds")).toMatchObject({ status: 200, text: said });
  });

  test("to a request whose text a policy replaces is made from the other text", async () => {
    await usePolicies({
      [`hide-${protocol}`]: `request: (texts) => ({ result: "replace", texts: texts.filter(({ role }) => role === "user")
        .map(({ path, text }) => ({ path, text: text.replaceAll("${word}", "[project]") })) })`,
    });
    await ask(protocol, false, `About ${word}`);
    expect(JSON.stringify(upstream.seen.at(-1)?.messages)).toContain("About [project]");
    expect(JSON.stringify(upstream.seen)).not.toContain(word);
  });
});

describe("a policy that fails", () => {
  const failures = {
    throws: `request: () => { throw new Error("${word}"); }`,
    hangs: `timeoutMs: 20, request: () => new Promise(() => undefined)`,
    says: `request: () => ({ result: "maybe" })`,
    "says-nothing": `request: () => undefined`,
    invents: `request: () => ({ result: "replace", texts: [{ path: "messages[7].content", text: "x" }] })`,
  };

  test.each(Object.entries(failures))(
    "refuses the call where it is closed, and not where it is open: %s",
    async (name, code) => {
      await usePolicies({ [`closed-${name}`]: code });
      expect(await ask("chat", false)).toMatchObject({ status: 503, error: { code: "unavailable" } });
      expect(upstream.seen).toEqual([]);
      const [rule] = await listPolicyRules(gateway.store);
      await removePolicyRule(gateway.store, { by, accountId: eachAccount, id: rule?.id as string }, Date.now());
      await usePolicies({ [`open-${name}`]: code }, "open");
      expect(await ask("chat", false)).toMatchObject({ status: 200, text: said });
      const { detail } = await rowOf("");
      expect(detail.policies).toMatchObject([{ policy: `open-${name}`, result: "failed", count: 1 }]);
      expect(lines.join("\n")).not.toContain(word);
    },
  );

  test("on an answer ends it as a refusal where it is closed, also in a stream", async () => {
    await usePolicies({ "answer-throws": `holdBackChars: 8, answer: () => { throw new Error("no"); }` });
    for (const stream of [false, true]) {
      expect(await ask("chat", stream)).toMatchObject({ status: 200, text: "", end: "content_filter" });
    }
  });

  test("is paused after five failures, and a new version of its file is not", async () => {
    await usePolicies({ broken: failures.throws });
    for (let call = 0; call < 6; call++) expect((await ask("chat", false)).status).toBe(503);
    await until(() => lines.some((line) => line.includes('"label":"paused"')));
    const failing = lines.filter((line) => line.includes('"broken"') && line.includes('"label":"error"'));
    expect(failing).toHaveLength(5);
    lines.length = 0;
    writePolicy("broken", `request: () => ({ result: "allow" })`.padEnd(200));
    await until(() => lines.some((line) => isLoaded(line, "broken")));
    expect((await ask("chat", false)).status).toBe(200);
  });
});

test("a rule whose policy has no file refuses calls, until the file is there", async () => {
  await createPolicyRule(
    gateway.store,
    { by, accountId: eachAccount, policy: "missing", position: 0, on_failure: "closed" },
    Date.now(),
  );
  await applies("missing");
  expect(await ask("messages", true)).toMatchObject({ status: 529 });
  writePolicy("missing", `request: () => ({ result: "allow" })`);
  await until(async () => (await ask("messages", true)).status === 200);
  rmSync(join(gateway.home, "plugins", "missing.ts"));
  await until(async () => (await ask("messages", true)).status === 529);
});

test("policies run in their order, each on the text of the one before, and the first that denies ends the call", async () => {
  await usePolicies({
    first: `request: (texts) => ({ result: "replace", texts: texts.map(({ path, text }) => ({ path, text: text + " one" })) })`,
    second: `request: (texts) => texts.some(({ text }) => text.endsWith(" one"))
      ? { result: "deny", label: "second" } : { result: "allow" }`,
    third: `request: () => { throw new Error("it is not asked"); }`,
  });
  expect(await ask("chat", false)).toMatchObject({ status: 400, error: { code: "content_policy_violation" } });
});

test("the content log has the request as it was sent, and it and the stored response have the answer as its client got it", async () => {
  await usePolicies({
    "mask-both": `${mask}, request: (texts) => ({ result: "replace", texts: texts.filter(({ role }) => role === "user")
      .map(({ path, text }) => ({ path, text: text.replaceAll("${word}", "[project]") })) })`,
  });
  const origin = new URL(gateway.baseUrl).origin;
  const accountId = (await gateway.app.accounts.find("test@example.org"))?.id as string;
  const cookie = await enterAs(gateway.store, { accountId, role: "member" }, Date.now());
  for (const stream of [false, true]) {
    const response = await gateway.post("/responses", { model: "acme/chat", stream, input: `About ${word}` });
    const text = await response.text();
    const responseId = /"id":"(resp_[^"]+)"/.exec(text)?.[1] as string;
    const headers = { authorization: `Bearer ${gateway.key}` };
    const stored = await (await fetch(`${gateway.baseUrl}/responses/${responseId}`, { headers })).text();
    expect(stored).toContain(masked);
    expect(stored).not.toContain(word);
    await gateway.app.flush();
    const id = response.headers.get("x-request-id");
    const shown = await fetch(`${origin}/dashboard/api/requests/${id}/content`, {
      method: "POST",
      headers: { cookie, origin },
    });
    expect(await shown.json()).toMatchObject({
      request: [{ role: "user", text: "About [project]" }],
      answer: [{ role: "assistant", text: masked }],
    });
  }
});

test("the arguments of a tool call in a stream are looked at once they are whole, and stay JSON", async () => {
  upstream.called = JSON.stringify({ at: `the ${word} of 2026` });
  await usePolicies({ "mask-calls": mask });
  const read = async () => {
    const { path, body } = clients.chat;
    const tools = [{ type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } }];
    const text = await (await gateway.post(path, { ...body(true, "Hello"), tools })).text();
    const deltas = text
      .split("\n")
      .filter((line) => line.startsWith("data: {"))
      .map((line) => JSON.parse(line.slice(6)).choices[0]);
    const calls = deltas.flatMap((choice) => choice?.delta.tool_calls ?? []);
    return { calls, end: deltas.flatMap((choice) => choice?.finish_reason ?? []).at(-1) };
  };
  for (const piece of [1, 3, 100]) {
    upstream.piece = piece;
    const { calls, end } = await read();
    expect(calls).toMatchObject([
      { id: "call_Qm4vT9xZ", function: { name: "look", arguments: '{"at":"the [project] of 2026"}' } },
    ]);
    expect(end).toBe("tool_calls");
  }
  await usePolicies({
    "break-calls": `answer: (texts) => ({ result: "replace", texts: texts.map(({ path }) => ({ path, text: "{" })) })`,
  });
  expect(await read()).toEqual({ calls: [], end: "content_filter" });
});

test("a call that no rule is about has no guard, and one that a rule is about keeps its own", async () => {
  expect(snapshot().policies).toBeUndefined();
  expect(await ask("chat", false)).toMatchObject({ status: 200, text: said });
  const rule = {
    by,
    accountId: eachAccount,
    policy: "elsewhere",
    model: "other",
    position: 0,
    on_failure: "closed",
  } as const;
  await createPolicyRule(gateway.store, rule, Date.now());
  await until(() => snapshot().policies !== undefined);
  expect(snapshot().policies?.find({ accountId: "any", keyId: "any" }, "acme/chat")).toBeUndefined();
  expect(await ask("chat", true)).toMatchObject({ status: 200, text: said });
  expect((await rowOf("")).detail.policies).toBeUndefined();
});
