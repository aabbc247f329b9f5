import {
  badRequest,
  type ChatRequest,
  isRecord,
  openApiSubset,
  readToolChoice,
  reduceSchema,
  type Tool,
} from "modelgate/plugin";
import type { GenerateBody, Warn } from "./wire.ts";

const modes = { none: "NONE", auto: "AUTO", required: "ANY" };

/** The functions the model may call, all in one tool as the provider wants it, and whether it must. */
export function toTools(request: ChatRequest, warn: Warn): Pick<GenerateBody, "tools" | "toolConfig"> {
  const all = (request.tools ?? []).map((tool, index) => toDeclaration(tool, `tools[${index}].function`, warn));
  const { mode, names } = readToolChoice(request) ?? {};
  if (all.length === 0) return {};
  // The provider takes names only where a call is demanded; elsewhere the other functions are not shown.
  const demanded = mode === "required" ? names : undefined;
  const shown = all.filter(({ name }) => demanded !== undefined || names === undefined || names.includes(name));
  const config = mode && { functionCallingConfig: { mode: modes[mode], allowedFunctionNames: demanded } };
  return { tools: [{ functionDeclarations: shown }], toolConfig: config };
}

function toDeclaration({ function: { name, description, parameters } }: Tool, path: string, warn: Warn) {
  if (!/^[a-zA-Z_][\w.:-]{0,127}$/.test(name)) {
    const expected = "expected a letter or _, then letters, digits and _ . : -, at most 128 in all";
    throw badRequest(`${name} cannot name a function of this model: ${expected}`, `${path}.name`);
  }
  const { schema, dropped } = reduceSchema(parameters ?? {}, openApiSubset, `${path}.parameters`);
  if (dropped.length > 0) warn(`Left out of the parameters of ${name}: ${dropped.join(", ")}`);
  // The provider refuses an object of nothing.
  const isEmpty =
    schema.anyOf === undefined && !(isRecord(schema.properties) && Object.keys(schema.properties).length > 0);
  return { name, description: description ?? undefined, parameters: isEmpty ? undefined : schema };
}
