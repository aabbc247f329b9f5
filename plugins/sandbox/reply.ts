import type { ChatRequest, FinishReason, Message, Model } from "modelgate/plugin";
import type { ChatUsage } from "../../src/contract/index.ts";
import { readToolChoice } from "../../src/protocols/tools.ts";
import { getDisplayName, type Tool, type ToolCall } from "../../src/provider/index.ts";
import { createExample, findSchema } from "./example.ts";

/** One simulated choice, whole. */
export interface Reply {
  reasoning: string[];
  content: string[];
  toolCalls: ToolCall[];
  finishReason: FinishReason;
}

/** Makes the simulated answer to a prompt. The directives are already removed from it. */
export function replyTo(request: ChatRequest, model: Model, prompt: string, choice: number): Reply {
  const toolCalls = chooseToolCalls(request, prompt, choice);
  const reasoning = reasons(request)
    ? toPieces(`[sandbox] ${getDisplayName(model)} thinks about ${toPieces(prompt).length} words.`)
    : [];
  if (toolCalls.length > 0) return { reasoning, content: [], toolCalls, finishReason: "tool_calls" };
  const text = stopped(textFor(request, model, prompt, choice), request.stop);
  const pieces = toPieces(text);
  const tokensMax = request.max_completion_tokens ?? request.max_tokens ?? undefined;
  if (tokensMax === undefined || reasoning.length + pieces.length <= tokensMax) {
    return { reasoning, content: pieces, toolCalls, finishReason: "stop" };
  }
  const thought = reasoning.slice(0, tokensMax);
  const content = pieces.slice(0, tokensMax - thought.length);
  return { reasoning: thought, content, toolCalls, finishReason: "length" };
}

/** Usage that the simulated provider reports, with pieces of text as tokens. */
export function countUsage(
  request: ChatRequest,
  replies: readonly Reply[],
  { price }: Pick<Model, "price">,
): ChatUsage {
  let prompt = 0;
  for (const message of request.messages) prompt += 1 + toPieces(getText(message)).length;
  let completion = 0;
  let reasoning = 0;
  for (const reply of replies) {
    reasoning += reply.reasoning.length;
    completion += reply.reasoning.length + reply.content.length;
    for (const call of reply.toolCalls) completion += 1 + toPieces(call.function.arguments).length;
  }
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    completion_tokens_details: { reasoning_tokens: reasoning },
    // As of a provider that counts an attachment as a page, and works for a second on each hundred tokens.
    ...(price?.page && { pages: countAttachments(request) }),
    ...(price?.second && { seconds: Math.ceil(completion / 100) }),
  };
}

function textFor(request: ChatRequest, model: Model, prompt: string, choice: number): string {
  const { response_format: format } = request;
  if (format?.type === "json_object") {
    const schema = findSchema(request.messages.map(getText).join("\n"));
    const echo = { sandbox: true, model: getDisplayName(model), echo: prompt };
    return JSON.stringify(schema === undefined ? echo : createExample({ type: "object", ...schema }, "sandbox"));
  }
  if (format?.type === "json_schema") return JSON.stringify(createExample(format.json_schema.schema, prompt));
  const last = request.messages.at(-1);
  const input = last?.role === "tool" ? `the tool's answer ${getText(last)}` : prompt;
  const attachments = countAttachments(request);
  const beside = attachments === 0 ? "" : ` (and ${attachments} ${attachments === 1 ? "attachment" : "attachments"})`;
  const variant = [choice > 0 && `choice ${choice}`, typeof request.seed === "number" && `seed ${request.seed}`].filter(
    Boolean,
  );
  return `[sandbox] ${getDisplayName(model)} echoes${variant.length === 0 ? "" : ` (${variant.join(", ")})`}: ${input}${beside}`;
}

const stopCharactersMax = 256;

function stopped(text: string, stop: ChatRequest["stop"]): string {
  let end = text.length;
  for (const sequence of typeof stop === "string" ? [stop] : (stop ?? [])) {
    // A search takes as long as both lengths multiplied.
    const at = sequence === "" || sequence.length > stopCharactersMax ? -1 : text.indexOf(sequence);
    if (at !== -1 && at < end) end = at;
  }
  return text.slice(0, end);
}

function reasons({ reasoning_effort: effort }: ChatRequest): boolean {
  return effort !== undefined && effort !== null && effort !== "none";
}

/** The text of a message; parts that are not text are left out. */
function getText({ content }: Message): string {
  if (typeof content === "string") return content;
  if (!Array.isArray(content)) return "";
  return content.map((part) => (part.type === "text" ? part.text : "")).join("");
}

/** The text of the last message of the user. */
export function getPrompt({ messages }: ChatRequest): string {
  const message = messages.findLast(({ role }) => role === "user");
  return message === undefined ? "" : getText(message);
}

/** How many parts of the last user message are not text. */
function countAttachments({ messages }: ChatRequest): number {
  const content = messages.findLast(({ role }) => role === "user")?.content;
  return Array.isArray(content) ? content.filter(({ type }) => type !== "text").length : 0;
}

/** Text in pieces that stand for tokens: words with the space before them, long ones cut. Joined they give the text. */
export function toPieces(text: string): string[] {
  return text.match(/\s*\S{1,16}|\s+$/gu) ?? [];
}

/** A whole number that is always the same for the same text (FNV-1a, 32 bits). */
export function hashText(text: string): number {
  let hash = 0x811c9dc5;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193);
  return hash >>> 0;
}

/** Maximum number of tools that the prompt is searched for, and of its characters that each search reads. */
const [toolsMax, namedInMax] = [128, 20_000];

/** The calls to answer with: as `tool_choice` demands, or of the tools that the prompt names. None for plain text. */
function chooseToolCalls(request: ChatRequest, prompt: string, choice: number): ToolCall[] {
  const { mode, names } = readToolChoice(request) ?? {};
  const must = mode === "required";
  const tools = (request.tools ?? [])
    .filter(({ function: { name } }) => mode !== "none" && (names?.has(name) ?? true))
    .slice(0, toolsMax);
  const beginning = prompt.slice(0, namedInMax);
  const named = tools.filter((tool) => beginning.includes(tool.function.name));
  const isAnswered = request.messages.at(-1)?.role === "tool";
  let called = isAnswered ? [] : named;
  if (must && called.length === 0) {
    // Prefers a tool that was not called yet: an agent that demands a tool each time then reaches its last one.
    const earlier = calledSincePrompt(request);
    const isNew = (tool: Tool) => !earlier.has(tool.function.name);
    const fresh = [named.filter(isNew), tools.filter(isNew).slice(0, 1), named, tools.slice(0, 1)];
    called = fresh.find(({ length }) => length > 0) ?? [];
  }
  if (request.parallel_tool_calls === false) called = called.slice(0, 1);
  return called.map((tool, index) => toCall(tool, prompt, `${choice}/${index}`));
}

/** The names of the tools that were called after the last message of the user. */
function calledSincePrompt({ messages }: ChatRequest): Set<string> {
  const later = messages.slice(messages.findLastIndex(({ role }) => role === "user") + 1);
  const calls = later.flatMap((message) => (message.role === "assistant" ? (message.tool_calls ?? []) : []));
  return new Set(calls.flatMap((call) => (call.type === "function" ? [call.function.name] : [])));
}

function toCall({ function: { name, parameters } }: Tool, prompt: string, place: string): ToolCall {
  const id = `call_sandbox_${hashText(`${name}/${prompt}/${place}`).toString(36)}`;
  const values = createExample({ type: "object", ...parameters }, prompt);
  return { id, type: "function", function: { name, arguments: JSON.stringify(values) } };
}
