import { type ChatRequest, getOwn, type Model } from "../../../contract/index.ts";
import { jsonSchemaSubset, openApiSubset, reduceSchema } from "../../json-schema.ts";
import type { SchemaBudget } from "../../schema-budget.ts";
import { nearestEffort } from "../openai/reasoning.ts";
import type { Warn } from "./tools.ts";

type Config = Record<string, unknown>;
/** As Google's own OpenAI-compatible endpoint has it. https://ai.google.dev/gemini-api/docs/openai#thinking */
const budgets: Record<string, number> = { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576 };

/** `generationConfig`. What is undefined is not sent. */
export function toConfig(request: ChatRequest, model: Model, budget: SchemaBudget, warn: Warn): Config {
  const { n, seed, stop, logprobs, top_logprobs: topLogprobs } = request;
  const stops = [stop ?? []].flat().filter((text) => text !== "");
  return {
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens,
    temperature: request.temperature,
    // The provider's own default is another than ours.
    topP: request.top_p ?? (model.omit?.includes("top_p") ? undefined : 1),
    stopSequences: stops.length > 0 ? stops : undefined,
    // An int32 there.
    seed: typeof seed === "number" ? seed % 2 ** 31 : undefined,
    presencePenalty: request.presence_penalty,
    frequencyPenalty: request.frequency_penalty,
    candidateCount: typeof n === "number" && n > 1 ? n : undefined,
    responseLogprobs: logprobs === true ? true : undefined,
    logprobs: logprobs === true && topLogprobs ? topLogprobs : undefined,
    thinkingConfig: toThinking(request.reasoning_effort, model, warn),
    ...toFormat(request, model, budget, warn),
  };
}

function toThinking(effort: ChatRequest["reasoning_effort"], { options, id }: Model, warn: Warn): Config | undefined {
  if (typeof effort !== "string") return undefined;
  const includeThoughts = effort !== "none";
  if (options?.thinking === "level") {
    const level = nearestEffort(effort, options.levels as string[]);
    if (level !== effort)
      warn(`Took reasoning_effort ${level}, because ${id} does not have ${effort}`, "reasoning_effort");
    return { thinkingLevel: level, includeThoughts };
  }
  if (options?.thinking === "budget") {
    if (effort === "none" && options.canDisable === true) return { thinkingBudget: 0 };
    const { budgetMin: min = 0, budgetMax: max = 0 } = options as Record<string, number>;
    if (effort === "none") warn(`Took ${min} thinking tokens, because ${id} always thinks`, "reasoning_effort");
    return { thinkingBudget: Math.min(Math.max(getOwn(budgets, effort) ?? max, min), max), includeThoughts };
  }
  warn(`Left out reasoning_effort, because ${id} does not think`, "reasoning_effort");
  return undefined;
}

/** The sentence that asks for JSON where a response type cannot: the provider refuses one together with tools. */
export function jsonInstruction({ response_format: format, tools }: ChatRequest): string | undefined {
  if (!format || format.type === "text" || !tools || tools.length === 0) return undefined;
  const plain = "Unless you call a function, answer with one JSON object and no text or Markdown fence around it";
  if (format.type === "json_object") return `${plain}.`;
  return `${plain}, valid against this JSON schema:\n${JSON.stringify(format.json_schema.schema ?? {})}`;
}

function toFormat(request: ChatRequest, { options }: Model, budget: SchemaBudget, warn: Warn): Config {
  const { response_format: format } = request;
  if (!format || format.type === "text") return {};
  if (jsonInstruction(request) !== undefined) {
    warn("Asked for response_format in words, because the provider does not take it together with tools");
    return {};
  }
  const responseMimeType = "application/json";
  if (format.type === "json_object" || format.json_schema.schema === undefined) return { responseMimeType };
  // Every model since 2.5 thinks, and reads real JSON Schema.
  const subset = options?.thinking === undefined ? openApiSubset : jsonSchemaSubset;
  const param = "response_format.json_schema.schema";
  const { schema, dropped } = reduceSchema(format.json_schema.schema, subset, param, budget);
  if (dropped.length > 0) warn(`Left out of ${param}: ${dropped.join(", ")}`);
  return { responseMimeType, [subset === openApiSubset ? "responseSchema" : "responseJsonSchema"]: schema };
}
