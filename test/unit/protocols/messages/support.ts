import type { GatewayError } from "../../../../src/contract/index.ts";
import { Losses } from "../../../../src/protocols/losses.ts";
import { fromMessagesRequest, type MessagesPlan } from "../../../../src/protocols/messages/inbound.ts";
import type { MessagesAnswer, MessagesEvent, MessagesRequest } from "../../../../src/protocols/messages/schema.ts";
import { createReasoningEnvelope } from "../../../../src/protocols/reasoning.ts";
import type { ChatChunk, ChatRequest, Loss } from "../../../../src/provider/index.ts";

export const envelope = createReasoningEnvelope(new Uint8Array(32).fill(7), "acc_1");

/** The signature of a thought of `m` that its client sees, or does not. */
export const sign = (text: string, display: "shown" | "omitted", by = envelope) =>
  display === "shown" ? by.seal({ model: "m" }, text) : by.seal({ model: "m", text });

/** A request to the sandbox's model, with what it asks for. */
export function requestOf(fields: Partial<MessagesRequest> & Record<string, unknown>): MessagesRequest {
  return { model: "m", max_tokens: 100, messages: [{ role: "user", content: "Hi" }], ...fields };
}

export interface Translated {
  request: ChatRequest;
  plan: MessagesPlan;
  losses: readonly Loss[];
  warnings: string[];
}

export function translated(body: MessagesRequest, outputTokensMax?: number): Translated {
  const losses = new Losses();
  const made = fromMessagesRequest(body, { envelope, outputTokensMax, warn: losses.warn });
  return { ...made, losses: losses.list, warnings: losses.list.map(({ message }) => message) };
}

/** The plan of a request that asks for nothing but what is given. */
export function planOf(fields: Partial<MessagesRequest> & Record<string, unknown> = {}): MessagesPlan {
  return translated(requestOf(fields)).plan;
}

/** What a function throws. */
export function refusalOf(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    return error as GatewayError;
  }
  throw new Error("It succeeded, and a refusal was expected");
}

/** A chunk of the first choice, as the kernel sends it. */
export function chunkOf(delta: ChatChunk["choices"][number]["delta"], finish: "stop" | "tool_calls" | null = null) {
  const choice = { index: 0, delta, logprobs: null, finish_reason: finish };
  return { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m", choices: [choice] } as ChatChunk;
}

/**
 * Puts a stream together as Anthropic's SDKs do, and fails where they would: a block that opens within another, a delta
 * of another kind than its block, an index that is not the next.
 */
export function accumulate(events: readonly MessagesEvent[]): MessagesAnswer {
  let message: MessagesAnswer | undefined;
  let open: number | undefined;
  let json: string | undefined;
  let stopped = false;
  for (const event of events) {
    if (stopped) throw new Error(`${event.type} after message_stop`);
    if (event.type === "message_start") {
      if (message !== undefined) throw new Error("A second message_start");
      message = structuredClone(event.message);
      continue;
    }
    if (message === undefined) throw new Error(`${event.type} before message_start`);
    const block = message.content.at(-1);
    if (event.type === "content_block_start") {
      if (open !== undefined || event.index !== message.content.length) throw new Error(`Block ${event.index} opens`);
      open = event.index;
      json = undefined;
      message.content.push(structuredClone(event.content_block));
    } else if (event.type === "content_block_delta") {
      if (event.index !== open || block === undefined) throw new Error(`A delta of block ${event.index}`);
      const { type, text, thinking, signature, partial_json: piece } = event.delta;
      if (type === "text_delta" && block.type === "text") block.text = `${block.text}${text}`;
      else if (type === "thinking_delta" && block.type === "thinking") block.thinking = `${block.thinking}${thinking}`;
      else if (type === "signature_delta" && block.type === "thinking") block.signature = signature;
      else if (type === "input_json_delta" && block.type === "tool_use") json = `${json ?? ""}${piece}`;
      else throw new Error(`${type} in a block of type ${block.type}`);
    } else if (event.type === "content_block_stop") {
      if (event.index !== open || block === undefined) throw new Error(`Block ${event.index} ends`);
      if (json) block.input = JSON.parse(json);
      open = json = undefined;
    } else if (event.type === "message_delta") Object.assign(message, event.delta, { usage: event.usage });
    else if (event.type === "message_stop") stopped = true;
  }
  if (message === undefined || !stopped || open !== undefined) throw new Error("The stream broke off");
  return message;
}
