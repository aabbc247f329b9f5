/** A file that a message carries, as a data URL. */
export interface Attachment {
  readonly name: string;
  readonly url: string;
}

export interface ToolCall {
  readonly id: string;
  readonly type: "function";
  readonly function: { readonly name: string; readonly arguments: string };
}

/** A piece of a streamed tool call. */
export interface ToolCallDelta {
  readonly index?: number;
  readonly id?: string;
  readonly function?: { readonly name?: string; readonly arguments?: string };
}

export interface Turn {
  readonly role: "user" | "assistant" | "tool";
  readonly text: string;
  readonly attachments?: readonly Attachment[];
  /** The reasoning of the model, if it sends any. */
  readonly reasoning?: string;
  /** The tools that the model wants to be called. */
  readonly toolCalls?: readonly ToolCall[];
  /** The call that a turn of the role `tool` answers. */
  readonly toolCallId?: string;
  /** How the response ended; absent while it streams. */
  readonly end?: { readonly state: "whole" | "stopped" | "failed"; readonly text: string };
}

/** The fields of the request besides the messages, as they were typed. */
export interface ChatFields {
  readonly model: string;
  readonly system: string;
  readonly temperature: string;
  readonly top_p: string;
  readonly max_tokens: string;
  /** A JSON array of tools, or empty. */
  readonly tools: string;
  readonly format: "text" | "json_object" | "json_schema";
  /** The JSON schema of the answer, where `format` asks for one. */
  readonly schema: string;
}

export function toRequestBody(fields: ChatFields, turns: readonly Turn[]) {
  const { model, system, temperature, top_p, max_tokens } = fields;
  const tools = fields.tools.trim() === "" ? undefined : readJson(fields.tools).value;
  const responseFormat = toResponseFormat(fields);
  return {
    model,
    messages: [
      ...(system.trim() === "" ? [] : [{ role: "system", content: system }]),
      ...turns.filter(hasContent).map(toMessage),
    ],
    ...(temperature !== "" && { temperature: Number(temperature) }),
    ...(top_p !== "" && { top_p: Number(top_p) }),
    ...(max_tokens !== "" && { max_tokens: Number(max_tokens) }),
    ...(tools !== undefined && { tools }),
    ...(responseFormat !== undefined && { response_format: responseFormat }),
    stream: true,
  };
}

/** The value of a JSON text, or why it is invalid. */
export function readJson(text: string): { value?: unknown; error?: string } {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { error: error instanceof Error ? error.message : String(error) };
  }
}

/** Adds pieces of tool calls: the first piece of a call has its id and name, the others more of its arguments. */
export function mergeToolCalls(before: readonly ToolCall[], pieces: readonly ToolCallDelta[]): readonly ToolCall[] {
  const calls = [...before];
  for (const { index = 0, id, function: piece } of pieces) {
    const call = calls[index];
    calls[index] = {
      id: call?.id ?? id ?? `call_${index}`,
      type: "function",
      function: {
        name: call?.function.name ?? piece?.name ?? "",
        arguments: (call?.function.arguments ?? "") + (piece?.arguments ?? ""),
      },
    };
  }
  return calls;
}

/** The calls of the last answer that have no result yet. */
export function listPendingCalls(turns: readonly Turn[]): readonly ToolCall[] {
  const place = turns.findLastIndex(({ role }) => role === "assistant");
  const answered = new Set(turns.slice(place + 1).map(({ toolCallId }) => toolCallId));
  return (turns[place]?.toolCalls ?? []).filter(({ id }) => !answered.has(id));
}

function hasContent({ role, text, attachments = [], toolCalls = [] }: Turn): boolean {
  return role === "tool" || text !== "" || attachments.length > 0 || toolCalls.length > 0;
}

function toMessage({ role, text, attachments = [], toolCalls = [], toolCallId }: Turn) {
  if (role === "tool") return { role, tool_call_id: toolCallId, content: text };
  if (toolCalls.length > 0) return { role, content: text === "" ? null : text, tool_calls: toolCalls };
  if (attachments.length === 0) return { role, content: text };
  return { role, content: [...attachments.map(toPart), ...(text === "" ? [] : [{ type: "text", text }])] };
}

function toPart({ name, url }: Attachment) {
  if (url.startsWith("data:image/")) return { type: "image_url", image_url: { url } };
  if (!url.startsWith("data:audio/")) return { type: "file", file: { filename: name, file_data: url } };
  const format = /^data:audio\/(mpeg|mp3)/.test(url) ? "mp3" : "wav";
  return { type: "input_audio", input_audio: { data: url.slice(url.indexOf(",") + 1), format } };
}

function toResponseFormat({ format, schema }: ChatFields) {
  if (format === "text") return undefined;
  if (format === "json_object") return { type: format };
  return { type: format, json_schema: { name: "answer", schema: readJson(schema).value ?? {} } };
}
