import type { ChatRequest, Model } from "modelgate/plugin";
import { obstacleOf, toEffort } from "./reasoning.ts";
import { toTurns } from "./to-turns.ts";
import { strictSchema, type ToolPlan, toTools } from "./tools.ts";
import type { Reading, Warn } from "./wire.ts";

const jsonInstruction = "Answer with one valid JSON object and nothing else: no words around it, no code fence.";
/** For a row that does not say how much its model writes: what every model of this provider can. */
const outputTokensMaxDefault = 4096;
/** The gateway's own default, and the provider's. */
const temperatureDefaults = [0.7, 1];

const translated = `model messages max_tokens max_completion_tokens temperature top_p stop stream stream_options n tools
  tool_choice parallel_tool_calls response_format reasoning_effort user`.split(/\s+/);

/** Translates a request, and says how its answer is to be read. What is undefined in the body is not there. */
export function toMessages(asked: ChatRequest, model: Model, warn: Warn) {
  const request = leaveOut(asked, model, warn);
  const limit = model.outputTokensMax ?? outputTokensMaxDefault;
  const maxTokens = Math.min(request.max_completion_tokens ?? request.max_tokens ?? limit, limit);
  const { tools, choice, schema, reading } = toFormat(request, model, toTools(request, model, warn), warn);
  const forced = choice?.type === "any" || choice?.type === "tool";
  const obstacle = forced ? "a tool call is forced" : obstacleOf(request.messages);
  const { thinking, effort } = toEffort(request, model, { maxTokens, obstacle, warn });
  const { system, turns } = toTurns(request.messages, thinking !== undefined);
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

function leaveOut(asked: ChatRequest, model: Model, warn: Warn): ChatRequest {
  const kept = Object.entries(asked).filter(([field]) => translated.includes(field) && !model.omit?.includes(field));
  const request = Object.fromEntries(kept) as ChatRequest;
  const lost = Object.entries(asked).filter(([field, value]) => value && !(field in request));
  if (lost.length > 0) warn(`Left out ${lost.map(([field]) => field).join(", ")}, which this model does not take`);
  return request;
}

interface Format extends ToolPlan {
  reading: Reading;
  schema?: object;
}

function toFormat({ response_format: format }: ChatRequest, model: Model, plan: ToolPlan, warn: Warn): Format {
  const schema = format?.type === "json_schema" ? format.json_schema.schema : undefined;
  if (schema === undefined) return { ...plan, reading: { fenced: !!format && format.type !== "text" } };
  if (model.options?.jsonSchema === true) {
    return {
      ...plan,
      reading: {},
      schema: strictSchema(schema, "response_format.json_schema.schema", warn),
    };
  }
  if (plan.choice?.type === "tool") return { ...plan, reading: {} };
  let name = "json_answer";
  while (plan.tools.some((tool) => tool.name === name)) name += "_";
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
  if (thinks) {
    if (asksTopP || asksTemperature) warn("Left out temperature and top_p, which do not go with thinking");
    return {};
  }
  if (asksTopP && !asksTemperature) return { top_p: topP };
  if (asksTopP) warn("Left out top_p, which does not go with temperature");
  if (typeof temperature !== "number") return {};
  if (temperature > 1) warn("Lowered temperature to 1, the most this provider takes");
  return { temperature: Math.min(temperature, 1) };
}
