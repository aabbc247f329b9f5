import { type Asked, halves, type Step, toArguments, toEvent } from "./script.ts";

/** The part of a Chat Completions request that a step depends on. */
export interface ChatBody {
  model: string;
  stream?: boolean;
  tools?: { type: string; function?: { name: string }; custom?: { name: string } }[];
  messages: { role: string; content?: unknown }[];
}

/** The part of a Responses request that a step depends on. */
export interface ResponsesBody {
  model: string;
  stream?: boolean;
  include?: string[];
  input: string | { type?: string; output?: unknown }[];
  tools?: { type: string; name?: string }[];
}

const textOf = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));

export function readChat({ tools = [], messages }: ChatBody): Asked {
  const result = messages.findLast(({ role }) => role === "tool");
  const names = tools.map((tool) => tool.function?.name ?? tool.custom?.name ?? "");
  return { tools: names, result: result && textOf(result.content), thinks: false };
}

export function readResponses({ tools = [], input, include }: ResponsesBody): Asked {
  const items = typeof input === "string" ? [] : input;
  const result = items.findLast(({ type }) => /^(function|custom_tool)_call_output$/.test(type ?? ""));
  const thinks = include?.includes("reasoning.encrypted_content") ?? false;
  return { tools: tools.map(({ name }) => name ?? ""), result: result && textOf(result.output), thinks };
}

export function toCompletion({ text, tool }: Step, { model }: ChatBody) {
  const named = tool && { name: tool.name, arguments: JSON.stringify(toArguments(tool.input)) };
  const call = named && { id: `call_${tool?.id}`, type: "function", function: named };
  const message = { role: "assistant", content: text ?? null, ...(call && { tool_calls: [call] }) };
  const choice = { index: 0, message, finish_reason: call === undefined ? "stop" : "tool_calls" };
  const prompt_tokens_details = { cached_tokens: 64 };
  const usage = { prompt_tokens: 100, prompt_tokens_details, completion_tokens: 20, total_tokens: 120 };
  return { id: "chatcmpl-1", object: "chat.completion", created: 1, model, choices: [choice], usage };
}

export function toChunks({ choices, usage, model }: ReturnType<typeof toCompletion>): string {
  const { message, finish_reason } = choices[0] as (typeof choices)[number];
  const [call] = message.tool_calls ?? [];
  const deltas: object[] = [{ role: "assistant", content: message.content === null ? null : "" }];
  for (const content of halves(message.content ?? "")) if (content !== "") deltas.push({ content });
  if (call !== undefined) {
    const begun = { index: 0, ...call, function: { ...call.function, arguments: "" } };
    deltas.push({ tool_calls: [begun] });
    const pieces = halves(call.function.arguments);
    deltas.push(...pieces.map((piece) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })));
  }
  const of = (rest: object) =>
    toEvent({ id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model, ...rest });
  const chunks = deltas.map((delta) => of({ choices: [{ index: 0, delta, finish_reason: null }] }));
  return `${chunks.join("")}${of({ choices: [{ index: 0, delta: {}, finish_reason }] })}${of({ choices: [], usage })}data: [DONE]\n\n`;
}

export function toResponse({ thought, text, tool }: Step, { model, tools = [] }: ResponsesBody) {
  const part = text === undefined ? undefined : { type: "output_text", text, annotations: [], logprobs: [] };
  const isCustom = tools.some(({ type, name }) => type === "custom" && name === tool?.name);
  const call = tool && {
    id: `${isCustom ? "ctc" : "fc"}_${tool.id}`,
    call_id: `call_${tool.id}`,
    name: tool.name,
    status: "completed",
    ...(isCustom
      ? { type: "custom_tool_call", input: String(tool.input) }
      : { type: "function_call", arguments: JSON.stringify(toArguments(tool.input)) }),
  };
  const output: { type: string; id: string; [field: string]: unknown }[] = [];
  if (thought) output.push({ type: "reasoning", id: "rs_1", summary: [], encrypted_content: thought.signature });
  if (part) output.push({ type: "message", id: "msg_1", role: "assistant", status: "completed", content: [part] });
  if (call) output.push(call);
  const usage = {
    input_tokens: 100,
    input_tokens_details: { cached_tokens: 64, cache_write_tokens: 0 },
    output_tokens: 20,
    output_tokens_details: { reasoning_tokens: 8 },
    total_tokens: 120,
  };
  const nothing = { error: null, incomplete_details: null, instructions: null, temperature: null, top_p: null };
  const head = { id: "resp_upstream", object: "response", created_at: 1, status: "completed", model, output, usage };
  return { ...head, ...nothing, tools, tool_choice: "auto", parallel_tool_calls: true, metadata: {}, store: false };
}

export function toResponseEvents(response: ReturnType<typeof toResponse>): string {
  const begun = { ...response, status: "in_progress", output: [], usage: null };
  const events: { type: string; [field: string]: unknown }[] = [
    { type: "response.created", response: begun },
    { type: "response.in_progress", response: begun },
  ];
  for (const [output_index, item] of response.output.entries()) {
    const at = { item_id: item.id, output_index };
    events.push({ type: "response.output_item.added", output_index, item: begin(item) });
    for (const event of toPieces(item)) events.push({ ...at, ...event });
    events.push({ type: "response.output_item.done", output_index, item });
  }
  events.push({ type: "response.completed", response });
  return events.map((event, sequence_number) => toEvent({ ...event, sequence_number }, event.type)).join("");
}

type Item = ReturnType<typeof toResponse>["output"][number];

function begin(item: Item): Item {
  if (item.type === "message") return { ...item, status: "in_progress", content: [] };
  if (item.type === "function_call") return { ...item, status: "in_progress", arguments: "" };
  return item.type === "custom_tool_call" ? { ...item, status: "in_progress", input: "" } : item;
}

function toPieces(item: Item): { type: string; [field: string]: unknown }[] {
  if (item.type === "message") {
    const [part] = item.content as { text: string }[];
    const text = part?.text ?? "";
    const at = { content_index: 0 };
    const deltas = halves(text).map((delta) => ({ type: "response.output_text.delta", ...at, delta, logprobs: [] }));
    return [
      { type: "response.content_part.added", ...at, part: { ...part, text: "" } },
      ...deltas,
      { type: "response.output_text.done", ...at, text, logprobs: [] },
      { type: "response.content_part.done", ...at, part },
    ];
  }
  const field = { function_call: "arguments", custom_tool_call: "input" }[item.type];
  if (field === undefined) return [];
  const name = item.type === "function_call" ? "response.function_call_arguments" : "response.custom_tool_call_input";
  const whole = String(item[field]);
  const deltas = halves(whole).map((delta) => ({ type: `${name}.delta`, delta }));
  return [...deltas, { type: `${name}.done`, [field]: whole }];
}
