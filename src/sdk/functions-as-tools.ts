import type { Call, ChatChunk, ChatCompletion, ChatRequest, ChunkChoice, Message } from "../contract/index.ts";

type Chat = (call: Call<ChatRequest>) => Promise<ChatCompletion | AsyncIterable<ChatChunk>>;

/**
 * Makes a chat handler take the deprecated `functions` and `function_call` without knowing of them: they reach it as
 * `tools` and `tool_choice`, and a call it answers with goes back as `function_call`. Requests without them pass as
 * they are.
 *
 * @example
 * const chat = withFunctionsAsTools(async ({ request }) => ({ choices: [], tools: request.tools }));
 * const answer = await chat({ request: { messages: [], functions: [{ name: "weather" }] } });
 * answer.tools; // => [{ type: "function", function: { name: "weather" } }]
 */
export function withFunctionsAsTools(chat: Chat): Chat {
  return async (call) => {
    const { functions } = call.request;
    const hasFunctions = Array.isArray(functions) && functions.length > 0;
    if (!hasFunctions && !call.request.messages.some(isLegacy)) return chat(call);
    const answer = await chat({ ...call, request: toTools(call.request) });
    if (!hasFunctions) return answer;
    return Symbol.asyncIterator in answer ? toLegacyChunks(answer) : toLegacyCompletion(answer);
  };
}

function isLegacy(message: Message): boolean {
  return message.role === "function" || (message.function_call !== undefined && message.function_call !== null);
}

function toTools({ functions, function_call: choice, ...request }: ChatRequest): ChatRequest {
  const tools = (functions ?? []).map((definition) => ({ type: "function" as const, function: definition }));
  const toolChoice =
    typeof choice === "object" && choice !== null ? { type: "function" as const, function: choice } : choice;
  let calls = 0;
  const messages = request.messages.map((message): Message => {
    const { function_call: called, ...rest } = message;
    if (message.role === "function") return { ...rest, role: "tool", tool_call_id: legacyId(calls) };
    if (called === undefined || called === null) return message;
    return {
      ...rest,
      content: rest.content ?? null,
      tool_calls: [{ id: legacyId(++calls), type: "function", function: called }],
    };
  });
  if (tools.length === 0) return { ...request, messages };
  const asTools = { ...request, messages, tools, parallel_tool_calls: false };
  return toolChoice === undefined || toolChoice === null ? asTools : { ...asTools, tool_choice: toolChoice };
}

/** Legacy messages pair by order alone: one call, then its result. */
function legacyId(calls: number): string {
  return `call_legacy_${calls}`;
}

function toLegacyCompletion(completion: ChatCompletion): ChatCompletion {
  for (const choice of completion.choices) {
    const [first] = choice.message.tool_calls ?? [];
    if (first === undefined) continue;
    Object.assign(choice.message, { function_call: first.function });
    delete choice.message.tool_calls;
    choice.finish_reason = "function_call";
  }
  return completion;
}

async function* toLegacyChunks(chunks: AsyncIterable<ChatChunk>): AsyncGenerator<ChatChunk> {
  const called = new Set<number>();
  for await (const chunk of chunks) {
    for (const choice of chunk.choices) toLegacyChoice(choice, called);
    yield chunk;
  }
}

function toLegacyChoice(choice: ChunkChoice, called: Set<number>): void {
  const pieces = choice.delta?.tool_calls;
  if (pieces !== undefined && pieces !== null) {
    delete choice.delta.tool_calls;
    const piece = pieces.find(({ index = 0 }) => index === 0);
    if (piece?.function !== undefined) choice.delta.function_call = piece.function;
    if (pieces.length > 0) called.add(choice.index);
  }
  if (called.has(choice.index) && (choice.finish_reason === "tool_calls" || choice.finish_reason === "stop")) {
    choice.finish_reason = "function_call";
  }
}
