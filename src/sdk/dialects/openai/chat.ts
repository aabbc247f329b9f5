import type { Call, ChatChunk, ChatCompletion, ChatRequest } from "../../../contract/index.ts";
import { withFunctionsAsTools } from "../../tools.ts";
import { toCompletion } from "./chat-answer.ts";
import { toChunks } from "./chat-stream.ts";
import { toMessages, withoutMarks } from "./messages.ts";
import { type ChatOptions, resolveOptions } from "./options.ts";
import { fitReasoning } from "./reasoning.ts";
import { toBody } from "./request.ts";

const path = "/chat/completions";

/** The chat handler of a provider that speaks OpenAI's dialect. */
export function chatHandler(defaults: ChatOptions) {
  const converting = withFunctionsAsTools((call) => chat(call, resolveOptions(defaults, call.model)));
  return (call: Call<ChatRequest>): Promise<ChatCompletion | AsyncIterable<ChatChunk>> => {
    const options = resolveOptions(defaults, call.model);
    return options.functions === "pass" ? chat(call, options) : converting(call);
  };
}

/** The body of a chat request as this provider takes it. */
export function toChatBody(call: Pick<Call<ChatRequest>, "request" | "model" | "warn">, options: ChatOptions) {
  const body = toBody(call, options);
  body.messages = toMessages(call.request.messages, options);
  if (options.cacheControl !== true && Array.isArray(body.tools)) body.tools = withoutMarks(body.tools);
  fitReasoning(body, call, options);
  if (!streams(call.request, options)) {
    delete body.stream;
    delete body.stream_options;
  } else if (options.streamOptions === false) {
    delete body.stream_options;
  } else {
    body.stream_options = { ...call.request.stream_options, include_usage: true };
  }
  return body;
}

async function chat(call: Call<ChatRequest>, options: ChatOptions): Promise<ChatCompletion | AsyncIterable<ChatChunk>> {
  const body = toChatBody(call, options);
  if (streams(call.request, options)) return toChunks(await call.upstream.events(path, body), options);
  return toCompletion(await call.upstream.json(path, body), options);
}

/** Whether the provider is asked for a stream. Where it cannot, the caller gets a whole answer as one all the same. */
function streams({ stream, response_format: format }: ChatRequest, { streamsSchemas = true }: ChatOptions): boolean {
  return stream === true && (streamsSchemas || format?.type !== "json_schema");
}
