import { type ChatRequest, isRecord, openApiSubset, reduceSchema, type Tool } from "modelgate/plugin";
import { refuse } from "./refuse.ts";
import type { FunctionDeclaration, GenerateBody, Note } from "./wire.ts";

/** The functions the model may call, all in one tool as the provider wants it, and whether it must. */
export function toTools(request: ChatRequest, note: Note): Pick<GenerateBody, "tools" | "toolConfig"> {
  const all = (request.tools ?? []).map((tool, index) => toDeclaration(tool, `tools[${index}].function`, note));
  const { mode, names } = toDecision(request.tool_choice);
  const stranger = names?.find((name) => all.every((declaration) => declaration.name !== name));
  if (stranger !== undefined) throw refuse(`tool_choice names ${stranger}, which is none of the tools`, "tool_choice");
  if (all.length === 0) {
    if (mode === "ANY") throw refuse("tool_choice demands a call, but there are no tools", "tool_choice");
    return {};
  }
  // The provider takes names only where a call is demanded; elsewhere the other functions are not shown.
  const demanded = mode === "ANY" ? names : undefined;
  const shown = all.filter(({ name }) => demanded !== undefined || names === undefined || names.includes(name));
  const functionCallingConfig = mode === undefined ? undefined : { mode, allowedFunctionNames: demanded };
  return { tools: [{ functionDeclarations: shown }], toolConfig: functionCallingConfig && { functionCallingConfig } };
}

function toDeclaration({ function: definition }: Tool, path: string, note: Note): FunctionDeclaration {
  const { name, description, parameters } = definition;
  if (!/^[a-zA-Z_][\w.:-]{0,127}$/.test(name)) {
    const expected = "expected a letter or _, then letters, digits and _ . : -, at most 128 in all";
    throw refuse(`${name} cannot name a function of this model: ${expected}`, `${path}.name`);
  }
  const declaration: FunctionDeclaration = { name, description: description ?? undefined };
  if (!isRecord(parameters)) return declaration;
  const { schema, dropped } = reduceSchema(parameters, openApiSubset, `${path}.parameters`);
  if (dropped.length > 0) note(`Left out of the parameters of ${name}: ${dropped.join(", ")}`);
  const hasMembers = isRecord(schema.properties) && Object.keys(schema.properties).length > 0;
  // The provider refuses an object of nothing.
  return hasMembers || schema.anyOf !== undefined ? { ...declaration, parameters: schema } : declaration;
}

function toDecision(choice: ChatRequest["tool_choice"]): { mode?: string; names?: string[] } {
  if (choice === undefined || choice === null) return {};
  if (typeof choice === "string") return { mode: { none: "NONE", auto: "AUTO", required: "ANY" }[choice] };
  if (choice.type === "function") return { mode: "ANY", names: [choice.function.name] };
  const { mode, tools }: Record<string, unknown> = choice.allowed_tools;
  const names = (Array.isArray(tools) ? tools : []).map((tool) => tool?.function?.name);
  if (names.length > 0 && names.every((name) => typeof name === "string")) {
    return { mode: mode === "required" ? "ANY" : "AUTO", names };
  }
  throw refuse("allowed_tools names no functions, expected a list of them", "tool_choice.allowed_tools.tools");
}
