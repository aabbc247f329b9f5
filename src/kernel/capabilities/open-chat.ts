import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  GatewayError,
  type ProviderPlugin,
  UpstreamFault,
} from "../../contract/index.ts";
import { hasSubstance } from "../normalize/stream.ts";
import { fanOutChunks, fanOutCompletions } from "./fan-out.ts";
import { closeIterator, withYielding } from "./iterators.ts";

/** A chat answer that has begun: whole, or its first chunks and an iterator of the others. */
export type OpenedChat =
  | { completion: ChatCompletion; chunks?: undefined }
  | { completion?: undefined; first: ChatChunk[]; chunks: AsyncIterator<ChatChunk> };

/**
 * Runs a chat handler and waits for the first content: a stream that fails after an empty role has not begun, so that
 * another route can still serve the call.
 */
export async function openChat(plugin: ProviderPlugin, call: Call<ChatRequest>): Promise<OpenedChat> {
  const answer = await callHandler(plugin, call);
  if (isIterable(answer)) {
    if (call.request.stream !== true) throw new TypeError("A stream was returned where stream is not true");
    return openStream(answer);
  }
  const choices = (answer as ChatCompletion | null)?.choices;
  if (!Array.isArray(choices) || choices.length === 0) {
    throw new UpstreamFault("bad_response", "The provider's answer has no choices");
  }
  if (choices.some((choice) => typeof choice?.message !== "object" || choice.message === null)) {
    throw new UpstreamFault("bad_response", "A choice of the provider's answer has no message");
  }
  if (!choices.every(({ message }) => areToolCalls(message.tool_calls))) {
    throw new UpstreamFault("bad_response", "A tool call in the provider's answer names no function");
  }
  return { completion: answer };
}

function callHandler(
  plugin: ProviderPlugin,
  call: Call<ChatRequest>,
): Promise<ChatCompletion | AsyncIterable<ChatChunk>> {
  const { handlers, maxChoices } = plugin;
  if (handlers.chat === undefined) throw new TypeError(`Plugin '${plugin.name}' has no chat handler`);
  const { n, stream } = call.request;
  if (n === undefined || n === null || maxChoices.chat === undefined || n <= maxChoices.chat)
    return handlers.chat(call);
  const chat = handlers.chat.bind(handlers);
  return stream === true ? fanOutChunks(chat, call, n) : fanOutCompletions(chat, call, n);
}

async function openStream(stream: AsyncIterable<ChatChunk>): Promise<OpenedChat> {
  const chunks = withYielding(stream[Symbol.asyncIterator]());
  const first: ChatChunk[] = [];
  try {
    while (true) {
      const { done, value } = await chunks.next();
      if (done) throw new UpstreamFault("bad_response", "The provider's stream ended before it began");
      first.push(value);
      if (hasBegun(value) || first.length >= 64) return { first, chunks };
    }
  } catch (error) {
    closeIterator(chunks);
    throw error;
  }
}

function hasBegun(chunk: ChatChunk): boolean {
  if (!Array.isArray(chunk?.choices))
    throw new UpstreamFault("bad_response", "A chunk of the provider's stream has no choices");
  return chunk.choices.some((choice) => {
    if (!isObject(choice))
      throw new UpstreamFault("bad_response", "A choice in the provider's stream is not an object");
    return choice.finish_reason || hasSubstance(choice.delta);
  });
}

function areToolCalls(calls: unknown): boolean {
  if (calls === undefined || calls === null) return true;
  return Array.isArray(calls) && calls.every((call) => isObject(call) && isObject(call.function));
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === "object" && value !== null;

function isIterable(answer: ChatCompletion | AsyncIterable<ChatChunk>): answer is AsyncIterable<ChatChunk> {
  return answer !== null && typeof answer === "object" && Symbol.asyncIterator in answer;
}

/** Refuses more choices than fan-out provides. */
export function checkChoices(plugin: ProviderPlugin, n: number | null | undefined): void {
  if (
    n === undefined ||
    n === null ||
    plugin.maxChoices.chat === undefined ||
    n <= Math.max(plugin.maxChoices.chat, fanOutMax)
  )
    return;
  throw new GatewayError("invalid_request", `n is ${n}, but this model takes at most ${fanOutMax}`, { param: "n" });
}

/** How many requests one call may become where the provider has no `n`. */
export const fanOutMax = 16;
