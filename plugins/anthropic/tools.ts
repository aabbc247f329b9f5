import { type ChatRequest, isRecord, type Model, reduceSchema, strictSubset, type Tool } from "modelgate/plugin";
import { badRequest, cacheMark, cachesHourly } from "./parts.ts";
import type { Warn } from "./wire.ts";

/** The tools of a request as the provider takes them, and which of them the model may or must call. */
export interface ToolPlan {
  tools: { name: string; [field: string]: unknown }[];
  choice?: { type: "none" | "auto" | "any" | "tool"; name?: string; disable_parallel_tool_use?: true } | undefined;
}

export function toTools(request: ChatRequest, model: Model, warn: Warn): ToolPlan {
  const { tool_choice: wanted, messages } = request;
  const names = (request.tools ?? []).map((tool) => tool.function.name);
  const choice = toChoice(wanted, names);
  // Calls in the conversation need their tools defined, also when the request names none any more.
  const called = messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map((call) => call.function.name));
  if (names.length === 0 && called.length > 0) {
    const tools = [...new Set(called)].map((name) => ({ name, input_schema: { type: "object" } }));
    return { tools, choice: { type: "none" } };
  }
  if (names.length === 0) return { tools: [] };
  const allowed = allowedOf(wanted, names);
  const tools = (request.tools ?? [])
    .map((tool, index) => toTool(tool, model, `tools[${index}].function.parameters`, warn))
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

function toTool(tool: Tool, model: Model, param: string, warn: Warn) {
  const { name, description, parameters, strict } = tool.function;
  const schema = { type: "object", properties: {}, ...parameters };
  const definition = {
    name,
    description: description ?? undefined,
    input_schema: schema,
    ...cacheMark(tool, cachesHourly(model)),
  };
  if (!strict || model.options?.jsonSchema !== true) return definition;
  return { ...definition, input_schema: strictSchema(schema, param, warn), strict };
}

function toChoice(wanted: ChatRequest["tool_choice"], names: string[]): ToolPlan["choice"] {
  if (wanted === null || wanted === undefined) return undefined;
  if (wanted === "auto" || wanted === "none") return names.length > 0 ? { type: wanted } : undefined;
  if (names.length === 0) throw badRequest("tool_choice demands a tool, expected tools to choose from", "tool_choice");
  if (wanted === "required") return { type: "any" };
  if (wanted.type === "function") return { type: "tool", name: known(wanted, names, "tool_choice") };
  const { mode }: { mode?: unknown } = wanted.allowed_tools;
  return { type: mode === "required" ? "any" : "auto" };
}

function allowedOf(wanted: ChatRequest["tool_choice"], names: string[]): string[] {
  if (!isRecord(wanted) || wanted.type !== "allowed_tools") return names;
  const param = "tool_choice.allowed_tools.tools";
  const { tools }: { tools?: unknown } = wanted.allowed_tools;
  if (!Array.isArray(tools) || tools.length === 0) throw badRequest("Allows no tool, expected a list of tools", param);
  return tools.map((tool) => known(tool, names, param));
}

function known(wanted: unknown, names: string[], param: string): string {
  const name = isRecord(wanted) && isRecord(wanted.function) ? wanted.function.name : undefined;
  if (typeof name === "string" && names.includes(name)) return name;
  throw badRequest(`Names no tool of this request, expected ${names.join(", ")}`, param);
}
