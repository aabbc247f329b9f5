import type { ChatRequest, Model, Tool } from "../../../contract/index.ts";
import { reduceSchema, strictSubset } from "../../json-schema.ts";
import type { SchemaBudget } from "../../schema-budget.ts";
import { readToolChoice, type ToolDecision } from "../../tools.ts";
import { cacheMark } from "./parts.ts";
import type { Warn } from "./wire.ts";

/** The tools of a request as the provider takes them, and which of them the model may or must call. */
export interface ToolPlan {
  tools: { name: string; [field: string]: unknown }[];
  choice?: { type: "none" | "auto" | "any" | "tool"; name?: string; disable_parallel_tool_use?: true } | undefined;
}

export function toTools(request: ChatRequest, model: Model, budget: SchemaBudget, warn: Warn): ToolPlan {
  const decision = readToolChoice(request);
  const choice = toChoice(request, decision);
  // Calls in the conversation need their tools defined, even when the request no longer has tools.
  const called = request.messages.flatMap(({ tool_calls }) => (tool_calls ?? []).map((call) => call.function.name));
  if (!request.tools?.length && called.length > 0) {
    const tools = [...new Set(called)].map((name) => ({ name, input_schema: { type: "object" } }));
    return { tools, choice: { type: "none" } };
  }
  const canBeStrict = model.options?.jsonSchema === true;
  const tools = (request.tools ?? [])
    .map((tool, index) => {
      const param = `tools[${index}].function.parameters`;
      return toTool(tool, (schema) => (canBeStrict ? strictSchema(schema, param, budget, warn) : undefined));
    })
    .filter(({ name }) => decision?.names?.has(name) ?? true);
  if (tools.length === 0) return { tools };
  if (request.parallel_tool_calls !== false || choice?.type === "none") return { tools, choice };
  return { tools, choice: { type: "auto", ...choice, disable_parallel_tool_use: true } };
}

/** A schema that the provider can hold the model to. */
export function strictSchema(schema: object, param: string, budget: SchemaBudget, warn: Warn): object {
  const { schema: reduced, dropped } = reduceSchema(schema, strictSubset, param, budget);
  if (dropped.length > 0) warn(`Left out of ${param}: ${dropped.join(", ")}`);
  return reduced;
}

function toTool(tool: Tool, toStrict: (schema: object) => object | undefined) {
  const { name, description, parameters, strict } = tool.function;
  const schema = { type: "object", properties: {}, ...parameters };
  const definition = { name, description: description ?? undefined, input_schema: schema, ...cacheMark(tool) };
  const reduced = strict ? toStrict(schema) : undefined;
  return reduced === undefined ? definition : { ...definition, input_schema: reduced, strict };
}

function toChoice({ tool_choice: wanted }: ChatRequest, decision: ToolDecision | undefined): ToolPlan["choice"] {
  if (decision?.mode !== "required") return decision && { type: decision.mode };
  if (typeof wanted === "string" || wanted?.type !== "function") return { type: "any" };
  return { type: "tool", name: wanted.function.name };
}
