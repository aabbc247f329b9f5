import type { Call, ChatChunk, ChatCompletion, ChatRequest } from "../../../contract/index.ts";
import { withFunctionsAsTools } from "../../functions-as-tools.ts";
import { toCompletion } from "./chat-answer.ts";
import { toChunks } from "./chat-stream.ts";
import { toMessages } from "./messages.ts";
import { type ChatOptions, quirksOf } from "./quirks.ts";
import { fitReasoning } from "./reasoning.ts";
import { toBody } from "./request.ts";

const path = "/chat/completions";

/** The chat handler of a provider that speaks OpenAI's dialect. */
export function chatHandler(options: ChatOptions) {
  const converting = withFunctionsAsTools((call) => chat(call, quirksOf(options, call.model)));
  return (call: Call<ChatRequest>): Promise<ChatCompletion | AsyncIterable<ChatChunk>> => {
    const quirks = quirksOf(options, call.model);
    return quirks.functions === "pass" ? chat(call, quirks) : converting(call);
  };
}

/** The body of a chat request as this provider takes it. */
export function toChatBody(call: Pick<Call<ChatRequest>, "request" | "model" | "note">, quirks: ChatOptions) {
  const body = toBody(call, quirks);
  body.messages = toMessages(call.request.messages, quirks);
  fitReasoning(body, call, quirks);
  if (!streams(call.request, quirks)) {
    delete body.stream;
    delete body.stream_options;
  } else if (quirks.streamOptions === false) {
    delete body.stream_options;
  } else {
    body.stream_options = { ...call.request.stream_options, include_usage: true };
  }
  return body;
}

async function chat(call: Call<ChatRequest>, quirks: ChatOptions): Promise<ChatCompletion | AsyncIterable<ChatChunk>> {
  const body = toChatBody(call, quirks);
  if (streams(call.request, quirks)) return toChunks(await call.upstream.events(path, body), quirks);
  return toCompletion(await call.upstream.json(path, body), quirks);
}

/** Whether the provider is asked for a stream. Where it cannot, the caller gets a whole answer as one all the same. */
function streams({ stream, response_format: format }: ChatRequest, { streamsSchemas = true }: ChatOptions): boolean {
  return stream === true && (streamsSchemas || format?.type !== "json_schema");
}
