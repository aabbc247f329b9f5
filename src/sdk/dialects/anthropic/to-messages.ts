import type { ChatRequest, Message, Model, ToolCall } from "../../../contract/index.ts";
import { badRequest } from "../../errors.ts";
import { SchemaBudget } from "../../schema-budget.ts";
import { pickSupportedFields } from "../../supported-fields.ts";
import { getToolResults, readArguments, resultWithoutCall } from "../../tools.ts";
import { cacheMark, shortenMarks, toBlocks } from "./parts.ts";
import { findObstacle, readDetails, toEffort } from "./reasoning.ts";
import { strictSchema, type ToolPlan, toTools } from "./tools.ts";
import type { Block, Reading, Turn, Warn } from "./wire.ts";

const jsonInstruction = "Answer with one valid JSON object and nothing else: no words around it, no code fence.";
/** For a row that does not say how much its model writes: what every model of this provider can. */
const outputTokensMaxDefault = 4096;
/** The gateway's own default, and the provider's. */
const temperatureDefaults = [0.7, 1];

const translated = `max_tokens max_completion_tokens temperature top_p stop n tools
  tool_choice parallel_tool_calls response_format reasoning_effort user`.split(/\s+/);

/** Translates a request, and says how its answer is to be read. What is undefined in the body is not there. */
export function toMessages(asked: ChatRequest, model: Model, warn: Warn) {
  const request = pickSupportedFields(asked, translated, model, warn);
  const limit = model.outputTokensMax ?? outputTokensMaxDefault;
  const maxTokens = Math.min(request.max_completion_tokens ?? request.max_tokens ?? limit, limit);
  const { tools, choice, schema, reading } = toFormat(request, model, warn);
  const forced = choice?.type === "any" || choice?.type === "tool";
  const obstacle = forced ? "a tool call is forced" : findObstacle(request.messages);
  const { thinking, effort } = toEffort(request, model, { maxTokens, obstacle, warn });
  const { system, turns } = toTurns(request.messages, thinking !== undefined);
  if (model.price?.cacheWrite1hToken === undefined) shortenMarks([{ content: system }, { content: tools }, ...turns]);
  if (reading.fenced) system.push({ type: "text", text: jsonInstruction });
  const marked = system.some((block) => block.cache_control);
  const stops = [request.stop ?? []].flat().filter((stop) => stop.trim() !== "");
  const body = {
    model: model.upstreamId,
    max_tokens: maxTokens,
    messages: turns,
    stream: request.stream === true,
    system: marked ? system : system.map(({ text }) => text).join("\n") || undefined,
    tools: tools.length > 0 ? tools : undefined,
    tool_choice: choice,
    thinking,
    output_config: effort || schema ? { effort, format: schema && { type: "json_schema", schema } } : undefined,
    ...toSampling(request, thinking !== undefined, warn),
    stop_sequences: stops.length > 0 ? stops : undefined,
    metadata: request.user ? { user_id: request.user } : undefined,
  };
  return { body, reading };
}

interface Format extends ToolPlan {
  reading: Reading;
  schema?: object;
}

function toFormat(request: ChatRequest, model: Model, warn: Warn): Format {
  const budget = new SchemaBudget();
  const plan = toTools(request, model, budget, warn);
  const format = request.response_format;
  const schema = format?.type === "json_schema" ? format.json_schema.schema : undefined;
  if (schema === undefined) return { ...plan, reading: { fenced: !!format && format.type !== "text" } };
  if (model.options?.jsonSchema === true) {
    return {
      ...plan,
      reading: {},
      schema: strictSchema(schema, "response_format.json_schema.schema", budget, warn),
    };
  }
  if (plan.choice?.type === "tool") return { ...plan, reading: {} };
  let name = "json_answer";
  const names = new Set(plan.tools.map((tool) => tool.name));
  while (names.has(name)) name += "_";
  const tool = { name, description: "Gives the answer to the user", input_schema: { type: "object", ...schema } };
  const others = plan.tools.length > 0 && plan.choice?.type !== "none";
  const choice = others ? ({ type: "any" } as const) : ({ type: "tool", name } as const);
  const single = { ...choice, disable_parallel_tool_use: true } as const;
  return { tools: [...plan.tools, tool], choice: single, reading: { jsonTool: name } };
}

/** The provider takes temperature up to 1, or top_p, not both, and neither with thinking. */
function toSampling({ temperature, top_p: topP }: ChatRequest, thinks: boolean, warn: Warn) {
  const asksTopP = typeof topP === "number" && topP !== 1;
  const asksTemperature = typeof temperature === "number" && !temperatureDefaults.includes(temperature);
  const asks = asksTopP || asksTemperature;
  if (thinks && asks) warn("Left out temperature and top_p, which do not go with thinking", ["temperature", "top_p"]);
  if (thinks) return {};
  if (asksTopP && !asksTemperature) return { top_p: topP };
  if (asksTopP) warn("Left out top_p, which does not go with temperature", "top_p");
  if (typeof temperature !== "number") return {};
  if (temperature > 1) warn("Lowered temperature to 1, the most this provider takes", "temperature");
  return { temperature: Math.min(temperature, 1) };
}

/**
 * Sorts messages into the system text and turns that alternate, each call's results first in theirs. Thoughts that the
 * client brought back go along only while the model is to think.
 */
function toTurns(messages: readonly Message[], thinks: boolean): { system: Block[]; turns: Turn[] } {
  const system: Block[] = [];
  const turns: Turn[] = [];
  const ids = new CallIds();
  for (let index = 0; index < messages.length; index++) {
    const message = messages[index] as Message;
    const { role, tool_calls: calls } = message;
    const path = `messages[${index}]`;
    if (role === "tool" || role === "function") throw resultWithoutCall(`${path}.tool_call_id`);
    const blocks = toBlocks(message.content, `${path}.content`, role === "user" ? "media" : "text");
    if (role === "system" || role === "developer") system.push(...blocks);
    else if (role === "user") append(turns, role, blocks);
    else {
      const called = (calls ?? []).map((call, place) => toCall(call, ids, `${path}.tool_calls[${place}]`));
      append(turns, role, [...(thinks ? readDetails(message) : []), ...blocks, ...called]);
      append(turns, "user", toResults(messages, index, called));
      if (called.length > 0) while (messages[index + 1]?.role === "tool") index++;
    }
  }
  const last = turns.at(-1);
  const end = last?.role === "assistant" ? last.content.at(-1) : undefined;
  // A turn that the model is to go on with may not end in white space.
  if (end?.text !== undefined) end.text = end.text.trimEnd();
  if (last !== undefined) return { system, turns };
  if (system.length === 0)
    throw badRequest("The messages hold nothing, expected text or another part in one", "messages");
  return { system: [], turns: [{ role: "user", content: system }] };
}

function append(turns: Turn[], role: Turn["role"], blocks: Block[]): void {
  const last = turns.at(-1);
  if (last?.role === role) last.content.push(...blocks);
  else if (blocks.length > 0) turns.push({ role, content: blocks });
}

/** The provider wants ids of a plain alphabet, each once; clients bring those of others, and use them again. */
class CallIds {
  readonly #taken = new Set<string>();
  /** How often each was sent, so that the next free one is not searched for from the first on. */
  readonly #counts = new Map<string, number>();

  take(sent: string): string {
    const plain = sent.replace(/[^a-zA-Z0-9_-]/g, "_");
    let count = this.#counts.get(plain) ?? 0;
    let id = plain;
    // A name that was made here may have been sent as well: each such one is passed once.
    for (; this.#taken.has(id); id = `${plain}_${++count}`);
    this.#counts.set(plain, count);
    this.#taken.add(id);
    return id;
  }
}

function toCall(call: ToolCall, ids: CallIds, path: string): Block {
  const id = ids.take(call.id);
  return { type: "tool_use", id, name: call.function.name, input: readArguments(call, path), ...cacheMark(call) };
}

/** The results of a message's calls. A client of the Messages protocol may have marked one as failed, or to be cached. */
function toResults(messages: readonly Message[], index: number, calls: Block[]): Block[] {
  return getToolResults(messages, index).map(({ message, index: at }, place) => {
    const blocks = toBlocks(message.content, `messages[${at}].content`, "media");
    const content = blocks.length > 0 ? blocks : undefined;
    const failed = "is_error" in message && message.is_error === true ? { is_error: true } : {};
    return { type: "tool_result", tool_use_id: calls[place]?.id, content, ...failed, ...cacheMark(message) };
  });
}
