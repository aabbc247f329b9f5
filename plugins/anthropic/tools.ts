import {
  type ChatRequest,
  type FunctionDefinition,
  isRecord,
  type Model,
  reduceSchema,
  strictSubset,
} from "modelgate/plugin";
import { cacheMark, refuse } from "./parts.ts";
import type { Note } from "./wire.ts";

interface ToolDefinition {
  name: string;
  description?: string | undefined;
  input_schema: object;
  strict?: true | undefined;
}

interface ToolDecision {
  type: "none" | "auto" | "any" | "tool";
  name?: string;
  disable_parallel_tool_use?: true;
}

/** The tools of a request, and which of them the model may or must call. */
export interface ToolPlan {
  tools: ToolDefinition[];
  choice: ToolDecision | undefined;
  /** Whether the caller asked with `functions`. */
  legacy: boolean;
}

export function toTools(request: ChatRequest, model: Model, note: Note): ToolPlan {
  const legacy = !request.tools?.length && !!request.functions?.length;
  const strict = model.options?.jsonSchema === true ? note : undefined;
  const tools = legacy
    ? (request.functions ?? []).map((definition, index) => toTool(definition, `functions[${index}]`, strict))
    : (request.tools ?? []).map((tool, index) => {
        return { ...toTool(tool.function, `tools[${index}].function`, strict), ...cacheMark(tool) };
      });
  const param = legacy ? "function_call" : "tool_choice";
  const choice = toChoice(request[param], tools, param);
  if (tools.length === 0) return planOfHistory(request);
  const allowed = legacy ? tools : allowedOf(request.tool_choice, tools);
  const single = (legacy || request.parallel_tool_calls === false) && choice?.type !== "none";
  if (!single) return { tools: allowed, choice, legacy };
  return { tools: allowed, choice: { type: "auto", ...choice, disable_parallel_tool_use: true }, legacy };
}

/** A schema that the provider can hold the model to. */
export function strictSchema(schema: object, param: string, note: Note): object {
  const { schema: reduced, dropped } = reduceSchema(schema, strictSubset, param);
  if (dropped.length > 0) note(`Left out of ${param}: ${dropped.join(", ")}`);
  return reduced;
}

function toTool(definition: FunctionDefinition, path: string, note: Note | undefined): ToolDefinition {
  const { name, description } = definition;
  const schema = { type: "object", properties: {}, ...definition.parameters };
  const tool = { name, description: description ?? undefined, input_schema: schema };
  if (definition.strict !== true || note === undefined) return tool;
  return { ...tool, input_schema: strictSchema(schema, `${path}.parameters`, note), strict: true };
}

function toChoice(wanted: unknown, tools: ToolDefinition[], param: string): ToolDecision | undefined {
  if (wanted === null || wanted === undefined) return undefined;
  if (wanted === "auto" || wanted === "none") return { type: wanted };
  if (tools.length === 0) throw refuse(`${param} demands a tool, expected tools to choose from`, param);
  if (!isRecord(wanted)) return { type: "any" };
  if (isRecord(wanted.allowed_tools)) return { type: wanted.allowed_tools.mode === "required" ? "any" : "auto" };
  return { type: "tool", name: nameOf(wanted, tools, param) };
}

/** The tools that `allowed_tools` leaves. */
function allowedOf(wanted: unknown, tools: ToolDefinition[]): ToolDefinition[] {
  if (!isRecord(wanted) || !isRecord(wanted.allowed_tools)) return tools;
  const param = "tool_choice.allowed_tools.tools";
  const entries = wanted.allowed_tools.tools;
  if (!Array.isArray(entries) || entries.length === 0) throw refuse("Allows no tool, expected a list of tools", param);
  const names = entries.map((entry) => nameOf(entry, tools, param));
  return tools.filter(({ name }) => names.includes(name));
}

function nameOf(wanted: unknown, tools: ToolDefinition[], param: string): string {
  const called = isRecord(wanted) && isRecord(wanted.function) ? wanted.function : wanted;
  const tool = tools.find(({ name }) => isRecord(called) && called.name === name);
  if (tool !== undefined) return tool.name;
  throw refuse(`Names no tool of this request, expected ${tools.map(({ name }) => name).join(", ")}`, param);
}

/** Calls in the conversation need their tools defined, also when the request names none any more. */
function planOfHistory({ messages }: ChatRequest): ToolPlan {
  const calls = messages.flatMap((message) => [
    ...(message.tool_calls ?? []).map((call) => call.function.name),
    ...(message.function_call ? [message.function_call.name] : []),
  ]);
  const tools = [...new Set(calls)].map((name) => ({ name, input_schema: { type: "object" } }));
  return { tools, choice: tools.length > 0 ? { type: "none" } : undefined, legacy: false };
}
