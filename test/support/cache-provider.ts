import { ExactCache } from "./exact-cache.ts";
import { type PromptBlock, readMessagesPrompt } from "./prompt-cache.ts";

type Json = Record<string, unknown>;
export type CachedProtocol = "chat" | "messages" | "responses";

export const cacheMinutes = 5;
const minuteMs = 60_000;

/** OpenAI and Anthropic as one server on loopback that keeps exact prefixes. */
export interface CacheProvider {
  /** Settings of a gateway that has it as both, with two keys each. */
  readonly env: Readonly<Record<string, string>>;
  readonly cache: ExactCache;
  /** The key that is refused; absent: none. */
  refusedKey: string | undefined;
  /** The key of the last request that it answered. */
  lastKey: string;
  /** Members that it puts into its next answers. */
  readonly words: Json;
  /** Bodies as it got them. */
  readonly seen: Json[];
  /** It answers no earlier; absent: at once. */
  beforeAnswer: (() => Promise<unknown>) | undefined;
  stop(): Promise<void>;
}

const text = (value: unknown, isMarked = true): PromptBlock => ({ text: JSON.stringify(value), isMarked });
const listOf = (value: unknown) => (Array.isArray(value) ? (value as Json[]) : []);

function readImplicit({ tools, instructions, input, messages }: Json): PromptBlock[] {
  return [...listOf(tools), ...(instructions ? [instructions] : []), ...listOf(input ?? messages)].map((one) =>
    text(one),
  );
}

export function startCacheProvider(now: () => number = Date.now): CacheProvider {
  const cache = new ExactCache(now, cacheMinutes * minuteMs);
  const [words, seen] = [{} as Json, [] as Json[]];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      const body = (await request.json()) as Json;
      const key = request.headers.get("x-api-key") ?? request.headers.get("authorization") ?? "";
      if (key === state.refusedKey) {
        return Response.json(
          { error: { message: "The key is not valid", type: "authentication_error" } },
          { status: 401 },
        );
      }
      await state.beforeAnswer?.();
      seen.push(body);
      state.lastKey = key;
      const { model, tool_choice, thinking, reasoning, reasoning_effort } = body;
      const scope = JSON.stringify([key, model, tool_choice, thinking, reasoning, reasoning_effort]);
      const isClaude = request.url.endsWith("/messages");
      const report = cache.take(scope, isClaude ? readMessagesPrompt(body) : readImplicit(body));
      const { prompt, read, written } = report;
      const details = { cached_tokens: read, cache_write_tokens: written };
      if (isClaude) {
        return Response.json({
          ...{ id: "msg_1", type: "message", role: "assistant", model, content: [{ type: "text", text: "Done" }] },
          ...{ stop_reason: "end_turn", stop_sequence: null, ...words },
          usage: {
            input_tokens: prompt - read - written,
            cache_read_input_tokens: read,
            cache_creation_input_tokens: written,
            output_tokens: 5,
          },
        });
      }
      if (request.url.endsWith("/responses")) {
        const part = { type: "output_text", text: "Done", annotations: [] };
        return Response.json({
          ...{ id: "resp_1", object: "response", created_at: 1, status: "completed", model, ...words },
          output: [{ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [part] }],
          usage: { input_tokens: prompt, output_tokens: 5, total_tokens: prompt + 5, input_tokens_details: details },
        });
      }
      return Response.json({
        ...{ id: "chatcmpl-1", object: "chat.completion", created: 1, model },
        choices: [{ index: 0, finish_reason: "stop", message: { role: "assistant", content: "Done" } }],
        usage: {
          prompt_tokens: prompt,
          completion_tokens: 5,
          total_tokens: prompt + 5,
          prompt_tokens_details: details,
        },
      });
    },
  });
  const origin = `http://127.0.0.1:${server.port}`;
  const state: CacheProvider = {
    env: {
      OPENAI_API_KEY: "sk-openai-0000000a,sk-openai-0000000b",
      OPENAI_BASE_URL: `${origin}/v1`,
      ANTHROPIC_API_KEY: "sk-anthropic-0000000a,sk-anthropic-0000000b",
      ANTHROPIC_BASE_URL: `${origin}/v1`,
    },
    cache,
    refusedKey: undefined,
    lastKey: "",
    words,
    seen,
    beforeAnswer: undefined,
    stop: () => server.stop(true),
  };
  return state;
}

const long = (name: string) => `${name} `.repeat(400);

/** What a client changes between two turns, by the place in its own request. */
export interface Parts {
  tools: string[];
  system: string[];
  turns: string[];
}

export const parts = (): Parts => ({
  tools: ["search", "read", "write", "run"].map(long),
  system: ["You are an agent", "Follow the rules"].map(long),
  turns: ["Look at it", "I look", "Go on"].map(long),
});

/** The turn after: the answer and what the client says then. */
export const nextTurn = ({ tools, system, turns }: Parts): Parts => ({
  tools: [...tools],
  system: [...system],
  turns: [...turns, long(`Answer ${turns.length}`), long(`Question ${turns.length}`)],
});

/** The request of a client of this protocol. */
export function toBody(
  protocol: CachedProtocol,
  model: string,
  { tools, system, turns }: Parts,
  more: Json = {},
): Json {
  const schema = { type: "object", properties: { path: { type: "string" } } };
  const roleOf = (index: number) => (index % 2 === 0 ? "user" : "assistant");
  if (protocol === "messages") {
    return {
      ...{ model, max_tokens: 100, cache_control: { type: "ephemeral" } },
      tools: tools.map((description, index) => ({ name: `tool_${index}`, description, input_schema: schema })),
      system: system.map((part) => ({ type: "text", text: part })),
      messages: turns.map((content, index) => ({ role: roleOf(index), content })),
      ...more,
    };
  }
  const functions = tools.map((description, index) => ({ name: `tool_${index}`, description, parameters: schema }));
  if (protocol === "chat") {
    return {
      model,
      tools: functions.map((one) => ({ type: "function", function: one })),
      messages: [
        ...system.map((content) => ({ role: "system", content })),
        ...turns.map((content, index) => ({ role: roleOf(index), content })),
      ],
      ...more,
    };
  }
  return {
    ...{ model, store: false },
    tools: functions.map((one) => ({ type: "function", strict: false, ...one })),
    instructions: system.join("\n"),
    input: turns.map((content, index) => ({ role: roleOf(index), content })),
    ...more,
  };
}
