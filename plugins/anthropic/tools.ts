import {
  type ChatRequest,
  isRecord,
  type Model,
  readToolChoice,
  reduceSchema,
  strictSubset,
  type Tool,
  type ToolDecision,
} from "modelgate/plugin";
import { cacheMark } from "./parts.ts";
import type { Warn } from "./wire.ts";

/** The tools of a request as the provider takes them, and which of them the model may or must call. */
export interface ToolPlan {
  tools: { name: string; [field: string]: unknown }[];
  choice?: { type: "none" | "auto" | "any" | "tool"; name?: string; disable_parallel_tool_use?: true } | undefined;
}

export function toTools(request: ChatRequest, model: Model, warn: Warn): ToolPlan {
  const decision = readToolChoice(request);
  const choice = toChoice(decision, isRecord(request.tool_choice) && request.tool_choice.type === "function");
  const names = (request.tools ?? []).map((tool) => tool.function.name);
  // Calls in the conversation need their tools defined, even when the request no longer has tools.
  const called = request.messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map((call) => call.function.name));
  if (names.length === 0 && called.length > 0) {
    const tools = [...new Set(called)].map((name) => ({ name, input_schema: { type: "object" } }));
    return { tools, choice: { type: "none" } };
  }
  if (names.length === 0) return { tools: [] };
  const allowed = decision?.names ?? names;
  const tools = (request.tools ?? [])
    .map((tool, index) => toTool(tool, model.options?.jsonSchema === true, `tools[${index}].function.parameters`, warn))
    .filter(({ name }) => allowed.includes(name));
  if (request.parallel_tool_calls !== false || choice?.type === "none") return { tools, choice };
  return { tools, choice: { type: "auto", ...choice, disable_parallel_tool_use: true } };
}

/** A schema that the provider can hold the model to. */
export function strictSchema(schema: object, param: string, warn: Warn): object {
  const { schema: reduced, dropped } = reduceSchema(schema, strictSubset, param);
  if (dropped.length > 0) warn(`Left out of ${param}: ${dropped.join(", ")}`);
  return reduced;
}

function toTool(tool: Tool, canBeStrict: boolean, param: string, warn: Warn) {
  const { name, description, parameters, strict } = tool.function;
  const schema = { type: "object", properties: {}, ...parameters };
  const definition = { name, description: description ?? undefined, input_schema: schema, ...cacheMark(tool) };
  if (!strict || !canBeStrict) return definition;
  return { ...definition, input_schema: strictSchema(schema, param, warn), strict };
}

function toChoice(decision: ToolDecision | undefined, isNamed: boolean): ToolPlan["choice"] {
  if (decision === undefined) return undefined;
  const { mode, names: [name] = [] } = decision;
  if (mode !== "required") return { type: mode };
  return isNamed && name !== undefined ? { type: "tool", name } : { type: "any" };
}
