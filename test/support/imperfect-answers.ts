import { toEvent } from "./event-stream.ts";
import { binaryReply, type Reply } from "./reply.ts";

/** What the model said, in every dialect: its reasoning, its text, two calls, and the usage that its provider reports. */
export const said = {
  reasoning: "First this, then that.",
  text: "Hello, world: ä€😀.",
  calls: [
    { name: "find_city", input: { city: "Paris" } },
    { name: "find_list", input: { list: [1, 2], quote: '}"' } },
  ],
  usage: { input: 12, output: 34 },
} as const;

// biome-ignore lint/suspicious/noExplicitAny: deviations change answers of every dialect, whose types only a right one has.
type Loose = any;

/** An event before it is framed: its name, and data that is JSON unless it is a text. */
export interface WireEvent {
  event?: string;
  data: Loose;
}

/** An answer as its dialect writes it, before a deviation. Each function makes it anew. */
export interface WireAnswer {
  whole: Loose;
  events: WireEvent[];
}

export type DialectName = "openai" | "responses" | "anthropic" | "gemini" | "bedrock";

const [first, second] = said.calls;
const cut = (text: string): [string, string] => [text.slice(0, 7), text.slice(7)];
const json = (value: unknown) => JSON.stringify(value);

function openai(): WireAnswer {
  const usage = { prompt_tokens: 12, completion_tokens: 34, total_tokens: 46 };
  const head = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m" };
  const chunk = (delta: object, finish_reason: unknown = null) => ({
    data: { ...head, choices: [{ index: 0, delta, finish_reason }] },
  });
  const callOf = (call: { name: string; input: object }, index: number) => {
    const [begin, rest] = cut(json(call.input));
    const id = `call_${"ab"[index]}`;
    return [
      chunk({ tool_calls: [{ index, id, type: "function", function: { name: call.name, arguments: "" } }] }),
      chunk({ tool_calls: [{ index, function: { arguments: begin } }] }),
      chunk({ tool_calls: [{ index, function: { arguments: rest } }] }),
    ];
  };
  const calls = said.calls.map(({ name, input }, index) => ({
    id: `call_${"ab"[index]}`,
    type: "function",
    function: { name, arguments: json(input) },
  }));
  const message = { role: "assistant", content: said.text, reasoning_content: said.reasoning, tool_calls: calls };
  return {
    whole: { ...head, object: "chat.completion", choices: [{ index: 0, message, finish_reason: "tool_calls" }], usage },
    events: [
      chunk({ role: "assistant", content: "" }),
      ...cut(said.reasoning).map((reasoning_content) => chunk({ reasoning_content })),
      ...cut(said.text).map((content) => chunk({ content })),
      ...callOf(first, 0),
      ...callOf(second, 1),
      chunk({}, "tool_calls"),
      { data: { ...head, choices: [], usage } },
      { data: "[DONE]" },
    ],
  };
}

function anthropic(): WireAnswer {
  const usage = { input_tokens: 12, output_tokens: 34 };
  const head = { id: "msg_1", type: "message", role: "assistant", model: "m" };
  const blocks: Loose[] = [
    { type: "thinking", thinking: said.reasoning, signature: "c2lnbmVk" },
    { type: "text", text: said.text },
    ...said.calls.map(({ name, input }, index) => ({ type: "tool_use", id: `toolu_${"ab"[index]}`, name, input })),
  ];
  const event = (data: Loose): WireEvent => ({ event: data.type, data });
  const delta = (index: number, value: object) => event({ type: "content_block_delta", index, delta: value });
  const piecesOf = (block: Loose, index: number) => {
    if (block.type === "text") return cut(block.text).map((text) => delta(index, { type: "text_delta", text }));
    if (block.type === "tool_use")
      return cut(json(block.input)).map((partial_json) => delta(index, { type: "input_json_delta", partial_json }));
    return [
      ...cut(block.thinking).map((thinking) => delta(index, { type: "thinking_delta", thinking })),
      delta(index, { type: "signature_delta", signature: block.signature }),
    ];
  };
  const empty: Record<string, object> = {
    text: { text: "" },
    thinking: { thinking: "", signature: "" },
    tool_use: { input: {} },
  };
  return {
    whole: { ...head, content: blocks, stop_reason: "tool_use", stop_sequence: null, usage },
    events: [
      event({
        type: "message_start",
        message: { ...head, content: [], usage: { input_tokens: 12, output_tokens: 1 } },
      }),
      event({ type: "ping" }),
      ...blocks.flatMap((block, index) => [
        event({ type: "content_block_start", index, content_block: { ...block, ...empty[block.type] } }),
        ...piecesOf(block, index),
        event({ type: "content_block_stop", index }),
      ]),
      event({
        type: "message_delta",
        delta: { stop_reason: "tool_use", stop_sequence: null },
        usage: { output_tokens: 34 },
      }),
      event({ type: "message_stop" }),
    ],
  };
}

function responses(): WireAnswer {
  const output: Loose[] = [
    {
      type: "reasoning",
      id: "rs_1",
      summary: [{ type: "summary_text", text: said.reasoning }],
      encrypted_content: "e",
    },
    {
      type: "message",
      id: "msg_1",
      role: "assistant",
      status: "completed",
      content: [{ type: "output_text", text: said.text, annotations: [] }],
    },
    ...said.calls.map(({ name, input }, index) => ({
      type: "function_call",
      id: `fc_${"ab"[index]}`,
      call_id: `call_${"ab"[index]}`,
      name,
      arguments: json(input),
      status: "completed",
    })),
  ];
  const usage = { input_tokens: 12, output_tokens: 34, total_tokens: 46 };
  const response = { id: "resp_1", object: "response", created_at: 1, model: "m", status: "completed", output, usage };
  let sequence = 0;
  const event = (type: string, data: Loose): WireEvent => ({
    event: type,
    data: { type, sequence_number: sequence++, ...data },
  });
  const partsOf = (item: Loose, output_index: number): WireEvent[] => {
    const place = { item_id: item.id, output_index };
    if (item.type === "reasoning")
      return cut(said.reasoning).map((delta) =>
        event("response.reasoning_summary_text.delta", { ...place, summary_index: 0, delta }),
      );
    if (item.type === "message")
      return cut(said.text).map((delta) => event("response.output_text.delta", { ...place, content_index: 0, delta }));
    return [
      ...cut(item.arguments).map((delta) => event("response.function_call_arguments.delta", { ...place, delta })),
      event("response.function_call_arguments.done", { ...place, arguments: item.arguments }),
    ];
  };
  const begun = (item: Loose) => {
    if (item.type === "reasoning") return { ...item, summary: [] };
    if (item.type === "message") return { ...item, content: [], status: "in_progress" };
    return { ...item, arguments: "", status: "in_progress" };
  };
  const early = { ...response, status: "in_progress", output: [], usage: null };
  return {
    whole: response,
    events: [
      event("response.created", { response: early }),
      event("response.in_progress", { response: early }),
      ...output.flatMap((item, output_index) => [
        event("response.output_item.added", { output_index, item: begun(item) }),
        ...partsOf(item, output_index),
        event("response.output_item.done", { output_index, item }),
      ]),
      event("response.completed", { response }),
    ],
  };
}

function gemini(): WireAnswer {
  const usageMetadata = { promptTokenCount: 12, candidatesTokenCount: 34, totalTokenCount: 46 };
  const answer = (parts: object[], more: object = {}): Loose => ({
    candidates: [{ index: 0, content: { role: "model", parts }, ...more }],
    usageMetadata,
    modelVersion: "m",
  });
  const thoughts = cut(said.reasoning).map((text) => ({ text, thought: true }));
  const texts = cut(said.text).map((text) => ({ text }));
  const calls = said.calls.map(({ name, input }) => ({ functionCall: { name, args: input } }));
  const pieces = [...thoughts, ...texts, ...calls];
  return {
    whole: answer([{ text: said.reasoning, thought: true }, { text: said.text }, ...calls], { finishReason: "STOP" }),
    events: [
      ...pieces.map((part) => ({ data: answer([part]) })),
      { data: answer([{ text: "" }], { finishReason: "STOP" }) },
    ],
  };
}

function bedrock(): WireAnswer {
  const usage = { inputTokens: 12, outputTokens: 34, totalTokens: 46 };
  const event = (name: string, data: Loose): WireEvent => ({ event: name, data });
  const delta = (contentBlockIndex: number, value: object) =>
    event("contentBlockDelta", { contentBlockIndex, delta: value });
  const stop = (contentBlockIndex: number) => event("contentBlockStop", { contentBlockIndex });
  const content = [
    { reasoningContent: { reasoningText: { text: said.reasoning, signature: "c2lnbmVk" } } },
    { text: said.text },
    ...said.calls.map(({ name, input }, index) => ({ toolUse: { toolUseId: `tooluse_${"ab"[index]}`, name, input } })),
  ];
  return {
    whole: { output: { message: { role: "assistant", content } }, stopReason: "tool_use", usage },
    events: [
      event("messageStart", { role: "assistant" }),
      ...cut(said.reasoning).map((text) => delta(0, { reasoningContent: { text } })),
      delta(0, { reasoningContent: { signature: "c2lnbmVk" } }),
      stop(0),
      ...cut(said.text).map((text) => delta(1, { text })),
      stop(1),
      ...said.calls.flatMap(({ name, input }, index) => [
        event("contentBlockStart", {
          contentBlockIndex: index + 2,
          start: { toolUse: { toolUseId: `tooluse_${"ab"[index]}`, name } },
        }),
        ...cut(json(input)).map((piece) => delta(index + 2, { toolUse: { input: piece } })),
        stop(index + 2),
      ]),
      event("messageStop", { stopReason: "tool_use" }),
      event("metadata", { usage, metrics: { latencyMs: 1 } }),
    ],
  };
}

const wireAnswers: Readonly<Record<DialectName, () => WireAnswer>> = {
  openai,
  responses,
  anthropic,
  gemini,
  bedrock,
};

/** How an answer goes onto the wire. A deviation may change any of it. */
export interface Sending {
  form: "whole" | "stream";
  dialect: DialectName;
  whole: Loose;
  events: WireEvent[];
  status: number;
  contentType: string | undefined;
  /** In place of the whole answer or of the events; the text of a body. */
  body: string | undefined;
  /** What comes before the answer. */
  preface: string;
  frame(event: WireEvent): string;
  /** What is made of the framed text at last. */
  finish(text: string): string;
}

const frameEvent = ({ event, data }: WireEvent): string =>
  `${event === undefined ? "" : `event: ${event}\n`}data: ${typeof data === "string" ? data : json(data)}\n\n`;

/** An answer that is sent as it should be. */
export function sendingOf(dialect: DialectName, form: "whole" | "stream"): Sending {
  // By its text, so that no two events share an object.
  const { whole, events } = JSON.parse(json(wireAnswers[dialect]())) as WireAnswer;
  const isBinary = dialect === "bedrock" && form === "stream";
  return {
    form,
    dialect,
    whole,
    events,
    status: 200,
    contentType:
      form === "whole" ? "application/json" : isBinary ? "application/vnd.amazon.eventstream" : "text/event-stream",
    body: undefined,
    preface: "",
    frame: frameEvent,
    finish: (text) => text,
  };
}

/** The reply of a provider. */
export function toReply(sending: Sending, slices = 5): Reply {
  const { form, dialect, whole, events, status, contentType, body, preface, frame, finish } = sending;
  const headers: Record<string, string> = contentType === undefined ? {} : { "content-type": contentType };
  if (body === undefined && form === "stream" && dialect === "bedrock") {
    const messages = events.map(({ event = "", data }) => toEvent(event, data));
    return { ...binaryReply(new Uint8Array(Buffer.concat(messages)), contentType ?? ""), headers, slices };
  }
  const text = body ?? (form === "whole" ? json(whole) : events.map((event) => frame(event)).join(""));
  return { status, headers, body: new TextEncoder().encode(finish(preface + text)), slices };
}
