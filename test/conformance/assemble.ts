import type { ChatUsage } from "../../src/contract/index.ts";
import type { ChatChunk, ChatCompletion } from "../../src/provider/index.ts";

/** What a chat answer comes to for a client, whichever way it came. */
export interface Whole {
  choices: Record<string, unknown>[];
  usage: ChatUsage | undefined;
}

const saidFields = ["content", "reasoning_content", "reasoning_details", "refusal", "function_call"];

type Delta = ChatChunk["choices"][number]["delta"];
interface Call {
  id: string;
  name: string;
  arguments: string;
}

/** Puts a stream together as a client does that knows OpenAI's only. */
export function assemble(chunks: readonly ChatChunk[]): Whole {
  const choices: Record<string, unknown>[] = [];
  let usage: ChatUsage | undefined;
  for (const chunk of chunks) {
    usage = chunk.usage ?? usage;
    for (const { index, delta, finish_reason: finish } of chunk.choices) {
      choices[index] ??= { calls: [] };
      const choice = choices[index];
      for (const field of ["content", "reasoning_content", "refusal"] as const) add(choice, field, delta[field]);
      if (delta.function_call) choice.function_call = delta.function_call;
      if (Array.isArray(delta.reasoning_details)) {
        choice.reasoning_details = [...((choice.reasoning_details ?? []) as unknown[]), ...delta.reasoning_details];
      }
      addCalls(choice.calls as Call[], delta);
      choice.finish_reason = finish ?? choice.finish_reason;
    }
  }
  return { choices: choices.map(comparable), usage };
}

/** The same of an answer that came whole. */
export function whole({ choices, usage }: ChatCompletion): Whole {
  return {
    choices: choices.map(({ message, finish_reason }) => {
      const calls = (message.tool_calls ?? []).map(({ id, function: called }) => ({ id, ...called }));
      const fields = saidFields.map((field) => [field, (message as Record<string, unknown>)[field]]);
      return comparable({ ...Object.fromEntries(fields), calls, finish_reason });
    }),
    usage,
  };
}

function add(choice: Record<string, unknown>, field: string, text: unknown): void {
  if (typeof text === "string") choice[field] = `${choice[field] ?? ""}${text}`;
}

function addCalls(calls: Call[], { tool_calls: pieces = [] }: Delta): void {
  for (const { index = -1, id = "", function: called } of pieces) {
    const known = calls[index];
    if (known === undefined) calls[index] = { id, name: called?.name ?? "", arguments: called?.arguments ?? "" };
    else known.arguments += called?.arguments ?? "";
  }
}

/** Nothing said is nothing, however it is written, and arguments are the value they stand for. */
function comparable({ calls, ...choice }: Record<string, unknown>): Record<string, unknown> {
  const said = Object.entries(choice).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  const called = (calls as Call[]).map((call) => ({ ...call, arguments: JSON.parse(call.arguments) as unknown }));
  return { ...Object.fromEntries(said), calls: called };
}
