/** The answers of the loopback provider, as bytes with their heads. */
import { answerText, chunkCount, chunkTexts, usage } from "./job.ts";

export interface Answers {
  whole: Buffer;
  /** A stream, a chunk each; the first has the head. */
  pieces: readonly Buffer[];
}

function toAnswers(answer: unknown, events: readonly string[]): Answers {
  const json = JSON.stringify(answer);
  const head = `HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(json)}\r\n\r\n`;
  return { whole: Buffer.from(head + json), pieces: events.map(toPiece) };
}

function toPiece(event: string, index: number, events: readonly string[]): Buffer {
  const head =
    "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream; charset=utf-8\r\nTransfer-Encoding: chunked\r\n\r\n";
  const framed = `${Buffer.byteLength(event).toString(16)}\r\n${event}\r\n`;
  return Buffer.from((index === 0 ? head : "") + framed + (index === events.length - 1 ? "0\r\n\r\n" : ""));
}

const inChunks = (event: (index: number) => string) => Array.from({ length: chunkCount }, (_, index) => event(index));

const chatHead = {
  id: "chatcmpl-0123456789abcdefghijklmnopqrs",
  created: 1_763_700_000,
  model: "gpt-4.1-nano-2025-04-14",
  service_tier: "default",
  system_fingerprint: "fp_0123456789",
};

function chatEvent(index: number): string {
  const base = { ...chatHead, object: "chat.completion.chunk" };
  if (index === chunkCount - 1) return `data: ${JSON.stringify({ ...base, choices: [], usage })}\n\ndata: [DONE]\n\n`;
  const isEnd = index === chunkCount - 2;
  const delta = index === 0 ? { role: "assistant", content: "" } : isEnd ? {} : { content: chunkTexts[index - 1] };
  const choice = { index: 0, delta, logprobs: null, finish_reason: isEnd ? "stop" : null };
  return `data: ${JSON.stringify({ ...base, choices: [choice], usage: null, obfuscation: "abcdefgh" })}\n\n`;
}

const chatMessage = { role: "assistant", content: answerText, refusal: null, annotations: [] };
const chatChoice = { index: 0, message: chatMessage, logprobs: null, finish_reason: "stop" };
export const chatAnswers = toAnswers(
  { ...chatHead, object: "chat.completion", choices: [chatChoice], usage },
  inChunks(chatEvent),
);

const responseUsage = {
  input_tokens: usage.prompt_tokens,
  input_tokens_details: { cached_tokens: 0 },
  output_tokens: usage.completion_tokens,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: usage.total_tokens,
};
const response = {
  id: "resp_0123456789abcdef",
  object: "response",
  created_at: 1_763_700_000,
  model: "gpt-4.1-nano-2025-04-14",
  error: null,
  incomplete_details: null,
  instructions: null,
  metadata: {},
  parallel_tool_calls: true,
  temperature: 1,
  top_p: 1,
  tool_choice: "auto",
  tools: [],
};
const item = { id: "msg_0123456789abcdef", type: "message", role: "assistant", status: "completed" };
const textPart = (text: string) => ({ type: "output_text", text, annotations: [], logprobs: [] });
const completed = (text: string) => ({
  ...response,
  status: "completed",
  output: [{ ...item, content: [textPart(text)] }],
  usage: responseUsage,
});

/** Each chunk is one delta; the events that open and close an answer come with the first and the last. */
function responseEvents(): string[] {
  let sequence = 0;
  const event = (type: string, fields: object) =>
    `event: ${type}\ndata: ${JSON.stringify({ type, sequence_number: sequence++, ...fields })}\n\n`;
  const at = { item_id: item.id, output_index: 0, content_index: 0 };
  const text = chunkTexts.join("");
  const started = { ...response, status: "in_progress", output: [], usage: null };
  const opening = [
    event("response.created", { response: started }),
    event("response.in_progress", { response: started }),
    event("response.output_item.added", { output_index: 0, item: { ...item, status: "in_progress", content: [] } }),
    event("response.content_part.added", { ...at, part: textPart("") }),
  ];
  const deltas = chunkTexts.map((delta) => event("response.output_text.delta", { ...at, delta, logprobs: [] }));
  const closing = [
    event("response.output_text.done", { ...at, text, logprobs: [] }),
    event("response.content_part.done", { ...at, part: textPart(text) }),
    event("response.output_item.done", { output_index: 0, item: { ...item, content: [textPart(text)] } }),
    event("response.completed", { response: completed(text) }),
  ];
  return spread(opening, deltas, closing);
}

export const responsesAnswers = toAnswers(completed(answerText), responseEvents());

const messageUsage = { input_tokens: usage.prompt_tokens, output_tokens: usage.completion_tokens };
const message = {
  id: "msg_0123456789abcdef",
  type: "message",
  role: "assistant",
  model: "claude-haiku-4-5",
  stop_sequence: null,
};

function messageEvents(): string[] {
  const event = (type: string, fields: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...fields })}\n\n`;
  const start = { ...message, content: [], stop_reason: null, usage: { ...messageUsage, output_tokens: 1 } };
  const opening = [
    event("message_start", { message: start }),
    event("content_block_start", { index: 0, content_block: { type: "text", text: "" } }),
  ];
  const deltas = chunkTexts.map((text) =>
    event("content_block_delta", { index: 0, delta: { type: "text_delta", text } }),
  );
  const closing = [
    event("content_block_stop", { index: 0 }),
    event("message_delta", { delta: { stop_reason: "end_turn", stop_sequence: null }, usage: messageUsage }),
    event("message_stop", {}),
  ];
  return spread(opening, deltas, closing);
}

export const messagesAnswers = toAnswers(
  { ...message, content: [{ type: "text", text: answerText }], stop_reason: "end_turn", usage: messageUsage },
  messageEvents(),
);

/** As many pieces as a chat stream has: opening and closing events make up for the chunks that it has besides text. */
function spread(opening: string[], deltas: string[], closing: string[]): string[] {
  const half = Math.ceil(closing.length / 2);
  return [opening.join(""), ...deltas, closing.slice(0, half).join(""), closing.slice(half).join("")];
}
