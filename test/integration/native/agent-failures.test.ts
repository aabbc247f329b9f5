import { afterEach, describe, expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { changeCharacter } from "../../support/change-character.ts";
import { parseEvents } from "../../support/sse.ts";
import { endOf, openOf } from "../db/facts.ts";
import { claude, eventsOf, gpt, type NativeBench, type Seen, startNative, streamOf } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

interface WireError {
  type: string;
  code: string | null;
  message: string;
}

/** An answer as an agent decides by it. */
interface Refusal extends WireError {
  status: number;
  shouldRetry: string | null;
  /** Seconds. */
  retryAfter: number | undefined;
}

/** Whether an agent asks once, waits as long as it is told, or goes on asking; and whether its user reads the message. */
type Behaviour = "ends with our words" | "ends with words of its own" | "waits" | "asks again";

/** As Claude Code was seen to go on after an answer that is no stream. */
function claudeCode({ status, type, message, shouldRetry, retryAfter }: Refusal): Behaviour {
  if (/prompt is too long|capability_rejected: prompt_too_long/i.test(message)) return "ends with words of its own";
  if (status === 413) return "ends with words of its own";
  if (status === 400) return /^(?:policy_blocked|billing_error)$/.test(type) ? "ends with our words" : "asks again";
  if (status === 402 || status === 403 || status === 415) return "ends with our words";
  if (shouldRetry === "false" && status !== 404) return "ends with our words";
  return status === 429 && retryAfter !== undefined ? "waits" : "asks again";
}

/** As Codex was seen to. */
function codex({ status, type, retryAfter }: Refusal): Behaviour {
  if (status === 400) return "ends with our words";
  if (status !== 429) return "asks again";
  if (type === "insufficient_quota" || retryAfter === undefined) return "ends with words of its own";
  return "waits";
}

const agents = {
  "Claude Code": {
    path: "/messages",
    after: claudeCode,
    body: { model: claude, max_tokens: 500, messages: [{ role: "user", content: "Hi" }] },
  },
  Codex: { path: "/responses", after: codex, body: { model: gpt, input: "Hi", store: false } },
} as const;
type AgentName = keyof typeof agents;

/** The gateway of one row, and how its agent asks. */
interface Case {
  env?: Record<string, string>;
  /** What the provider answers; absent: it must not be asked. */
  provider?: (seen: Seen, index: number) => Response | Promise<Response>;
  /** Makes the refusal; returns a key to ask with. */
  prepare?: (bench: NativeBench) => Promise<string | undefined> | string | undefined;
  body?: object;
  headers?: Record<string, string>;
}

interface Row extends Case {
  name: string;
  outcome: Behaviour;
  answer: Partial<Refusal> | ((refusal: Refusal) => void);
}

const anthropicError = (status: number, type: string, message: string, headers: Record<string, string> = {}) => ({
  provider: () => Response.json({ type: "error", error: { type, message } }, { status, headers }),
});
const openaiError = (status: number, fields: object, headers: Record<string, string> = {}) => ({
  provider: () => Response.json({ error: { param: null, ...fields } }, { status, headers }),
});
const createKey = async ({ gateway }: NativeBench, fields: object): Promise<string> => {
  const { id: accountId } = await gateway.store.db.selectFrom("accounts").select("id").executeTakeFirstOrThrow();
  return (await gateway.app.accounts.createKey({ accountId, name: "row", ...fields })).key;
};

/** Refusals of the gateway's own, which both agents meet. */
const own = {
  wrongKey: { prepare: ({ gateway }: NativeBench) => changeCharacter(gateway.key, -1) },
  emptyWallet: {
    async prepare({ gateway }: NativeBench) {
      await gateway.store.change((db) => db.updateTable("wallet_rows").set({ balance_nanodollars: 0 }).execute());
      return undefined;
    },
  },
  spentBudget: { prepare: (bench: NativeBench) => createKey(bench, { bounds: { budgetNanodollars: 1 } }) },
  narrowKey: { prepare: (bench: NativeBench) => createKey(bench, { allowedModels: ["famA-4o"] }) },
  fast: {
    env: { REQUESTS_PER_MINUTE: "1" },
    async prepare({ gateway }: NativeBench) {
      await fetch(`${gateway.baseUrl}/key`, { headers: { authorization: `Bearer ${gateway.key}` } });
      return undefined;
    },
  },
  endedSession: {
    headers: { "session-id": "ended" },
    async prepare({ gateway }: NativeBench) {
      const { store, baseUrl } = gateway;
      const key = await store.db.selectFrom("keys").select(["id", "account_id"]).executeTakeFirstOrThrow();
      const open = openOf("call-before", { accountId: key.account_id, keyId: key.id, session: "ended" });
      await store.writeLedger([open, endOf(open, { chargedNanodollars: 0 })]);
      const scopes = ["usage:read", "usage:write"];
      const { key: adminKey } = await createAdminKey(store, commandLine, { name: "a", scopes }, Date.now());
      const ended = await fetch(`${baseUrl}/organization/projects/${key.account_id}/sessions/ended/end`, {
        method: "POST",
        headers: { authorization: `Bearer ${adminKey}`, "content-type": "application/json" },
        body: "{}",
      });
      expect(ended.status).toBe(200);
      return undefined;
    },
  },
  encoded: { headers: { "content-encoding": "zstd" } },
  large: { body: { padding: "x".repeat(33 * 1024 * 1024) } },
  unknownModel: { body: { model: "nobody" } },
} satisfies Record<string, Case>;

/** What Anthropic says of one thing in a request, after which Claude Code leaves that out and asks again. */
const recoveries = [
  "context_management: Extra inputs are not permitted",
  "Unexpected value(s) `tools-of-tomorrow-2027-01-01` for the `anthropic-beta` header",
  "capability_rejected: beta_header:tools-of-tomorrow-2027-01-01",
  "This model does not support the effort parameter.",
  "capability_rejected: effort_unsupported",
  "messages.1.role: Input should be 'user' or 'assistant'",
  "capability_rejected: mid_conv_system",
  "tools.10.custom.defer_loading: Extra inputs are not permitted",
  "adaptive thinking is not supported on this model",
  "messages.1.content.0: Invalid `signature` in `thinking` block",
];

const promptTooLong: Partial<Refusal> = { status: 400, type: "invalid_request_error" };
const tables: Record<AgentName, Row[]> = {
  "Claude Code": [
    ...["Something is wrong", ...recoveries].map(
      (message): Row => ({
        name: `reads what its provider finds wrong as it was said: ${message}`,
        ...anthropicError(400, "invalid_request_error", message),
        outcome: "asks again",
        answer: { status: 400, type: "invalid_request_error", message },
      }),
    ),
    {
      name: "leaves no field out after a policy of its provider has refused the request",
      ...anthropicError(400, "policy_blocked", "This is not allowed"),
      outcome: "ends with our words",
      answer: { status: 400, type: "policy_blocked", message: "This is not allowed" },
    },
    ...[
      {
        said: "Claude",
        body: {},
        error: "input length and `max_tokens` exceed context limit: 9000 + 500 > 9400, send less",
      },
      {
        said: "a server of OpenAI's protocol",
        body: { model: gpt },
        error:
          "This model's maximum context length is 9400 tokens. However, you requested 9500 tokens (9000 in the messages, 500 in the completion).",
      },
    ].map(
      ({ said, body, error }): Row => ({
        name: `reads in the words by which it lowers max_tokens that they leave no room, as ${said} says it`,
        body,
        ...openaiError(400, { type: "invalid_request_error", message: error }),
        outcome: "asks again",
        answer: ({ status, message }) =>
          expect([status, message]).toEqual([
            400,
            expect.stringContaining("input length and `max_tokens` exceed context limit: 9000 + 500 > 9400"),
          ]),
      }),
    ),
    ...(
      [
        ["Claude says it", 400, "prompt is too long: 250000 tokens > 200000 maximum"],
        ["OpenAI says it", 400, "This model's maximum context length is 128000 tokens"],
        ["a 413 names the context window", 413, "the model context window is exceeded"],
        ["a gateway says it by its mark", 400, "capability_rejected: prompt_too_long"],
      ] as const
    ).map(
      ([how, status, message]): Row => ({
        name: `compacts its conversation when ${how}`,
        ...anthropicError(status, "invalid_request_error", message),
        outcome: "ends with words of its own",
        answer: promptTooLong,
      }),
    ),
    {
      name: "asks once with a wrong key",
      ...own.wrongKey,
      outcome: "ends with our words",
      answer: { status: 401, type: "authentication_error", shouldRetry: "false" },
    },
    {
      name: "asks once when the wallet is empty, and shows how much is in it",
      ...own.emptyWallet,
      outcome: "ends with our words",
      answer: ({ status, type, message }) =>
        expect([status, type, message]).toEqual([402, "billing_error", expect.stringContaining("the wallet has 0")]),
    },
    {
      name: "asks once when the budget of its key is spent, and shows which budget it is",
      ...own.spentBudget,
      outcome: "ends with our words",
      answer: ({ status, type, message }) =>
        expect([status, type, message]).toEqual([402, "billing_error", expect.stringContaining("budget of this key")]),
    },
    {
      name: "asks once for a model that its key may not use",
      ...own.narrowKey,
      outcome: "ends with our words",
      answer: { status: 403, type: "permission_error" },
    },
    {
      name: "is told of an unknown model by 404, for which it asks once more",
      ...own.unknownModel,
      outcome: "asks again",
      answer: { status: 404, type: "not_found_error" },
    },
    {
      name: "asks once in a session that was ended, and shows until when it is refused",
      ...own.endedSession,
      outcome: "ends with our words",
      answer: ({ status, type, message }) =>
        expect([status, type, message]).toEqual([
          400,
          "policy_blocked",
          expect.stringContaining("are refused until 2"),
        ]),
    },
    {
      name: "asks once with a body that is too large",
      ...own.large,
      outcome: "ends with words of its own",
      answer: { status: 413, type: "request_too_large" },
    },
    {
      name: "asks once with a body that its provider finds too large",
      ...anthropicError(413, "request_too_large", "Request exceeds the maximum size"),
      outcome: "ends with words of its own",
      answer: { status: 413, type: "request_too_large", message: "Request exceeds the maximum size" },
    },
    {
      name: "asks once with a compressed body",
      ...own.encoded,
      outcome: "ends with our words",
      answer: { status: 415, type: "invalid_request_error" },
    },
    ...[3, 90].map(
      (seconds): Row => ({
        name: `waits the ${seconds} seconds that its provider wants`,
        ...anthropicError(429, "rate_limit_error", "Slow down", { "retry-after": String(seconds) }),
        outcome: "waits",
        answer: { status: 429, type: "rate_limit_error", retryAfter: seconds, shouldRetry: null },
      }),
    ),
    {
      name: "is told how long to wait by a provider that does not say it",
      ...anthropicError(429, "rate_limit_error", "Slow down"),
      outcome: "waits",
      answer: { status: 429, type: "rate_limit_error", retryAfter: 1 },
    },
    {
      name: "is told how long its requests of the minute are used up",
      ...own.fast,
      outcome: "waits",
      answer: ({ status, retryAfter = 0 }) => expect([status, retryAfter > 0]).toEqual([429, true]),
    },
    {
      name: "asks once with more tokens than the operator's account takes at once",
      ...anthropicError(429, "rate_limit_error", "Request too large for this model: Limit 7000, Requested 12903"),
      outcome: "ends with our words",
      answer: { status: 429, type: "rate_limit_error", shouldRetry: "false" },
    },
    ...(
      [
        [500, "api_error", 500, "api_error"],
        [503, "api_error", 529, "overloaded_error"],
        [529, "overloaded_error", 529, "overloaded_error"],
      ] as const
    ).map(
      ([status, type, shownStatus, shown]): Row => ({
        name: `asks again after a ${status} of its provider, which may pass`,
        ...anthropicError(status, type, "Something broke"),
        outcome: "asks again",
        answer: { status: shownStatus, type: shown, shouldRetry: null },
      }),
    ),
    ...(
      [
        [401, "authentication_error"],
        [402, "billing_error"],
        [403, "permission_error"],
      ] as const
    ).map(
      ([status, type]): Row => ({
        name: `asks once when its provider answers ${status}, which only the operator can cure`,
        ...anthropicError(status, type, "No"),
        outcome: "ends with our words",
        answer: ({ status: shown, message }) =>
          expect([shown, message]).toEqual([500, expect.stringContaining("contact the operator")]),
      }),
    ),
  ],
  Codex: [
    {
      name: "shows what its provider finds wrong as it was said",
      ...openaiError(400, { type: "invalid_request_error", code: "of_tomorrow", message: "Something is wrong" }),
      outcome: "ends with our words",
      answer: { status: 400, code: "of_tomorrow", message: "Something is wrong" },
    },
    {
      name: "knows by the code that its prompt is too long",
      ...openaiError(400, { type: "invalid_request_error", message: "prompt is too long: 300 tokens > 200 maximum" }),
      outcome: "ends with our words",
      answer: { status: 400, code: "context_length_exceeded" },
    },
    {
      name: "knows by the code that its prompt is too long where a gateway of Claude's says it by its mark",
      body: { model: claude },
      ...anthropicError(400, "invalid_request_error", "capability_rejected: prompt_too_long"),
      outcome: "ends with our words",
      answer: { status: 400, code: "context_length_exceeded" },
    },
    ...[own.unknownModel, openaiError(404, { code: "model_not_found", message: "No such model" })].map(
      (one, index): Row => ({
        name: `knows by the code that ${index === 0 ? "the gateway" : "its provider"} does not have the model`,
        ...one,
        outcome: "ends with our words",
        answer: { status: 400, code: "model_not_found" },
      }),
    ),
    {
      name: "is told of a wrong key by 401, after which it asks its command for another",
      ...own.wrongKey,
      outcome: "asks again",
      answer: { status: 401, code: "invalid_api_key" },
    },
    {
      name: "asks once when the wallet is empty, and shows how much is in it",
      ...own.emptyWallet,
      outcome: "ends with our words",
      answer: ({ status, type, code, message }) =>
        expect([status, type, code, message]).toEqual([
          400,
          "insufficient_quota",
          "insufficient_balance",
          expect.stringContaining("the wallet has 0"),
        ]),
    },
    {
      name: "asks once when the budget of its key is spent, and shows which budget it is",
      ...own.spentBudget,
      outcome: "ends with our words",
      answer: ({ status, type, code, message }) =>
        expect([status, type, code, message]).toEqual([
          400,
          "insufficient_quota",
          "budget_exceeded",
          expect.stringContaining("budget of this key"),
        ]),
    },
    {
      name: "asks once for a model that its key may not use",
      ...own.narrowKey,
      outcome: "ends with our words",
      answer: { status: 400, code: "model_not_allowed" },
    },
    {
      name: "asks once in a session that was ended",
      ...own.endedSession,
      outcome: "ends with our words",
      answer: { status: 400, code: "session_ended" },
    },
    {
      name: "asks once with a body that is too large",
      ...own.large,
      outcome: "ends with our words",
      answer: { status: 400, code: "payload_too_large" },
    },
    {
      name: "asks once with a compressed body",
      ...own.encoded,
      outcome: "ends with our words",
      answer: { status: 400, code: "unsupported_media_type" },
    },
    {
      name: "waits as long as its provider wants",
      ...openaiError(429, { code: "rate_limit_exceeded", message: "Slow" }, { "retry-after": "3" }),
      outcome: "waits",
      answer: { status: 429, retryAfter: 3 },
    },
    {
      name: "is told how long to wait by a provider that does not say it",
      ...openaiError(429, { code: "rate_limit_exceeded", message: "Slow" }),
      outcome: "waits",
      answer: { status: 429, retryAfter: 1 },
    },
    {
      name: "is told how long its requests of the minute are used up",
      ...own.fast,
      outcome: "waits",
      answer: ({ status, retryAfter = 0 }) => expect([status, retryAfter > 0]).toEqual([429, true]),
    },
    {
      name: "asks once with more tokens than the operator's account takes at once",
      ...openaiError(429, { code: "rate_limit_exceeded", message: "Request too large: Limit 7000, Requested 12903" }),
      outcome: "ends with our words",
      answer: { status: 400, code: "request_too_large" },
    },
    ...[
      { status: 401, type: "authentication_error" },
      { status: 403, type: "permission_error" },
      { status: 429, type: "insufficient_quota", code: "insufficient_quota" },
      { status: 429, type: "usage_limit_reached", resets_at: 1_900_000_000 },
    ].map(
      ({ status, ...fields }): Row => ({
        name: `asks once when its provider answers ${status} ${fields.type}, which only the operator can cure`,
        ...openaiError(status, { ...fields, message: "No" }),
        outcome: "ends with our words",
        answer: ({ status: shown, message }) =>
          expect([shown, message]).toEqual([400, expect.stringContaining("contact the operator")]),
      }),
    ),
    ...[
      { status: 500, type: "server_error" },
      { status: 503, type: "server_error" },
      { status: 503, type: "server_error", code: "server_is_overloaded" },
      { status: 529, type: "overloaded_error" },
    ].map(
      ({ status, ...fields }): Row => ({
        name: `asks five times after a ${status} of its provider of ${Object.values(fields).join(", ")}`,
        ...openaiError(status, { ...fields, message: "Something broke" }),
        outcome: "asks again",
        // With `retry-after` it would not count them.
        answer: { status: 503, code: "server_is_overloaded", retryAfter: undefined },
      }),
    ),
    {
      name: "asks five times when its provider cannot be reached",
      env: { OPENAI_BASE_URL: "http://127.0.0.1:9/v1" },
      provider: () => Response.json({}),
      outcome: "asks again",
      answer: { status: 503, code: "server_is_overloaded", retryAfter: undefined },
    },
  ],
};

async function refusalOf(agent: AgentName, row: Row, stream: boolean): Promise<Refusal> {
  const { path, body } = agents[agent];
  const bench = await startNative(
    row.provider ?? (() => Response.json({})),
    row.env === undefined ? {} : { env: row.env },
  );
  toStop.push(bench);
  const key = (await row.prepare?.(bench)) ?? bench.gateway.key;
  const headers = { authorization: `Bearer ${key}`, ...row.headers };
  const response = await bench.ask(path, { ...body, ...row.body, stream }, headers);
  const { error } = (await response.json()) as { error: WireError };
  if (row.provider === undefined) expect(bench.seen).toEqual([]);
  const retryAfter = response.headers.get("retry-after");
  return {
    ...error,
    status: response.status,
    shouldRetry: response.headers.get("x-should-retry"),
    retryAfter: retryAfter === null ? undefined : Number(retryAfter),
  };
}

describe.each(Object.keys(agents) as AgentName[])("%s", (agent) => {
  test.each(tables[agent].map((row) => [row.name, row] as const))("%s", async (_, row) => {
    const refusal = await refusalOf(agent, row, true);
    if (typeof row.answer === "function") row.answer(refusal);
    else expect(refusal).toMatchObject(row.answer);
    expect(agents[agent].after(refusal)).toBe(row.outcome);
  });
});

const usage = { input_tokens: 5, output_tokens: 2, total_tokens: 7 };
const message = { id: "msg_1", type: "message", role: "assistant", model: "claude", content: [], usage };
const messageBegun = [
  { type: "message_start", message: { ...message, stop_reason: null, stop_sequence: null } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "Hel" } },
];
const response = { id: "resp_1", object: "response", status: "in_progress", model: "gpt", output: [] };
const responseHead = { type: "response.created", sequence_number: 0, response };
const responsePiece = {
  type: "response.output_text.delta",
  sequence_number: 1,
  item_id: "m",
  output_index: 0,
  content_index: 0,
  delta: "Hel",
};
const failedBy = (code: string, words: string) => ({
  type: "response.failed",
  sequence_number: 2,
  response: { ...response, status: "failed", error: { code, message: words } },
});

interface StreamRow {
  name: string;
  begun?: Record<string, unknown>[];
  /** The event that the provider sends after the beginning; absent: the stream is cut. */
  event?: Record<string, unknown>;
  /** Type of the error and its message, or code and message of the response that failed. */
  shown: [type: string, message: string];
}

const operator = "contact the operator";
const streamTables: Record<AgentName, StreamRow[]> = {
  "Claude Code": [
    ...(
      [
        ["overloaded_error", "Overloaded", "overloaded_error"],
        ["policy_blocked", "Blocked by a policy", "policy_blocked"],
        ["invalid_request_error", "Something is wrong", "invalid_request_error"],
        ["api_error", "Something broke", "api_error"],
      ] as const
    ).map(
      ([type, words, shown]): StreamRow => ({
        name: `is told of the ${type} of its provider by the same type and words`,
        event: { type: "error", error: { type, message: words } },
        shown: [shown, words],
      }),
    ),
    {
      name: "is not told what its provider says of the operator's money",
      event: { type: "error", error: { type: "billing_error", message: "Your card was declined" } },
      shown: ["api_error", operator],
    },
    {
      name: "is told that the stream of its provider was cut",
      shown: ["api_error", "ended before the answer was complete"],
    },
  ],
  Codex: [
    {
      name: "shows that the stream of its provider was cut",
      shown: ["server_error", "ended before the answer was complete"],
    },
    {
      name: "shows that a stream without a head was cut",
      begun: [responsePiece],
      shown: ["server_error", "ended before the answer was complete"],
    },
    {
      name: "shows the words of an event `error` of its provider",
      event: { type: "error", code: "server_error", message: "Something broke", param: null, sequence_number: 2 },
      shown: ["server_error", "Something broke"],
    },
    {
      name: "ends at once where the operator has no money, and shows whom to ask",
      event: failedBy("insufficient_quota", "You exceeded your quota"),
      shown: ["invalid_prompt", operator],
    },
    {
      name: "compacts its conversation after a response that found no room",
      event: failedBy("context_length_exceeded", "Too long"),
      shown: ["context_length_exceeded", "Too long"],
    },
    {
      name: "ends at once after a wrong prompt, and shows what is wrong with it",
      event: failedBy("invalid_prompt", "Not this prompt"),
      shown: ["invalid_prompt", "Not this prompt"],
    },
    {
      name: "ends at once where its provider says that it is full",
      event: failedBy("server_is_overloaded", "At capacity"),
      shown: ["server_is_overloaded", "At capacity"],
    },
    {
      name: "waits as long as its provider says in words",
      event: failedBy("rate_limit_exceeded", "Rate limit. Please try again in 2s."),
      shown: ["rate_limit_exceeded", "try again in 2s"],
    },
    {
      name: "asks again after a failure of another code, and shows its words",
      event: failedBy("of_tomorrow", "Something new broke"),
      shown: ["server_error", "Something new broke"],
    },
  ],
};

interface LastEvent {
  type: string;
  error?: WireError;
  response?: { status: string; error: WireError };
}

describe.each(Object.keys(agents) as AgentName[])("%s, in a stream that has begun,", (agent) => {
  const { path, body } = agents[agent];
  const begins = agent === "Codex" ? [responseHead, responsePiece] : messageBegun;

  test.each(streamTables[agent].map((row) => [row.name, row] as const))("%s", async (_, { begun, event, shown }) => {
    const sent = [...(begun ?? begins), ...(event === undefined ? [] : [event])];
    const bench = await startNative(() => streamOf(eventsOf(sent)));
    toStop.push(bench);
    const answer = await bench.ask(path, { ...body, stream: true });
    const last = parseEvents<LastEvent>(await answer.text()).events.at(-1);
    const { error } = last?.response ?? last ?? {};
    expect([answer.status, last?.type]).toEqual([200, agent === "Codex" ? "response.failed" : "error"]);
    expect([agent === "Codex" ? error?.code : error?.type, error?.message]).toEqual([
      shown[0],
      expect.stringContaining(shown[1]),
    ]);
  });

  test("hears of a silent provider what it counts", async () => {
    const gate = Promise.withResolvers<void>();
    const pieces = () =>
      new ReadableStream<Uint8Array>({
        async start(controller) {
          controller.enqueue(new TextEncoder().encode(eventsOf(begins)));
          await gate.promise;
          controller.close();
        },
      });
    const headers = { "content-type": "text/event-stream" };
    const bench = await startNative(() => new Response(pieces(), { headers }), { env: { SSE_HEARTBEAT_SECONDS: "1" } });
    toStop.push(bench);
    const answer = await bench.ask(path, { ...body, stream: true });
    const heard = agent === "Codex" ? "event: response.in_progress" : ": keep-alive";
    let text = "";
    for await (const piece of answer.body as ReadableStream<Uint8Array>) {
      text += new TextDecoder().decode(piece);
      if (text.includes(heard)) gate.resolve();
    }
    expect(text).toContain(heard);
  });
});
