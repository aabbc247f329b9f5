import {
  type ChatRequest,
  type Model,
  nearestEffort,
  openApiSubset,
  reduceSchema,
  type SchemaSubset,
} from "modelgate/plugin";
import type { Note } from "./wire.ts";

type Config = Record<string, unknown>;

/** What `responseJsonSchema` reads of JSON Schema. https://ai.google.dev/api/generate-content#generationconfig */
const jsonSchemaSubset: SchemaSubset = {
  ...openApiSubset,
  keywords: new Set(
    "title description propertyOrdering minItems maxItems minimum maximum additionalProperties".split(" "),
  ),
  nullForm: "anyOf",
  enumOf: "anything",
  itemsRequired: false,
};

/** A seed is an int32 there. */
const seedBound = 2 ** 31;

/** As Google's own OpenAI-compatible endpoint has it. https://ai.google.dev/gemini-api/docs/openai#thinking */
const budgetOf: Record<string, number> = { none: 0, minimal: 1024, low: 1024, medium: 8192, high: 24_576 };

/** `generationConfig`. What is undefined is not sent. */
export function toConfig(request: ChatRequest, model: Model, note: Note): Config {
  const { n, seed, stop, logprobs, top_logprobs: topLogprobs } = request;
  const stops = [stop ?? []].flat().filter((text) => text !== "");
  return {
    maxOutputTokens: request.max_completion_tokens ?? request.max_tokens ?? undefined,
    temperature: request.temperature ?? undefined,
    // The provider's own default is another than ours.
    topP: request.top_p ?? (model.omit?.includes("top_p") ? undefined : 1),
    stopSequences: stops.length > 0 ? stops : undefined,
    seed: typeof seed === "number" ? seed % seedBound : undefined,
    presencePenalty: request.presence_penalty ?? undefined,
    frequencyPenalty: request.frequency_penalty ?? undefined,
    candidateCount: typeof n === "number" && n > 1 ? n : undefined,
    responseLogprobs: logprobs === true ? true : undefined,
    logprobs: logprobs === true && topLogprobs ? topLogprobs : undefined,
    thinkingConfig: toThinking(request.reasoning_effort, model, note),
    ...toFormat(request, model, note),
  };
}

function toThinking(effort: ChatRequest["reasoning_effort"], { options, id }: Model, note: Note): Config | undefined {
  if (typeof effort !== "string") return undefined;
  const includeThoughts = effort !== "none";
  if (options?.thinking === "level") {
    const level = nearestEffort(effort, options.levels as string[]);
    if (level !== effort) note(`Took reasoning_effort ${level}, because ${id} does not have ${effort}`);
    return { thinkingLevel: level, includeThoughts };
  }
  if (options?.thinking === "budget") {
    const { budgetMin, budgetMax, canDisable } = options as {
      budgetMin: number;
      budgetMax: number;
      canDisable?: boolean;
    };
    if (effort === "none" && canDisable === true) return { thinkingBudget: 0 };
    if (effort === "none") note(`Took ${budgetMin} thinking tokens for reasoning_effort none: ${id} always thinks`);
    const budget = budgetOf[effort] ?? budgetMax;
    return { thinkingBudget: Math.min(Math.max(budget, budgetMin), budgetMax), includeThoughts };
  }
  note(`Left out reasoning_effort, because ${id} does not think`);
  return undefined;
}

/** The sentence that asks for JSON where a response type cannot: the provider refuses one together with tools. */
export function jsonInstruction({ response_format: format, tools }: ChatRequest): string | undefined {
  if (!format || format.type === "text" || !tools || tools.length === 0) return undefined;
  const plain = "Unless you call a function, answer with one JSON object and no text or Markdown fence around it";
  if (format.type === "json_object") return `${plain}.`;
  return `${plain}, valid against this JSON schema:\n${JSON.stringify(format.json_schema.schema ?? {})}`;
}

function toFormat(request: ChatRequest, model: Model, note: Note): Config {
  const { response_format: format } = request;
  if (!format || format.type === "text") return {};
  if (jsonInstruction(request) !== undefined) {
    note("Asked for response_format in words, because the provider does not take it together with tools");
    return {};
  }
  const responseMimeType = "application/json";
  if (format.type === "json_object" || format.json_schema.schema === undefined) return { responseMimeType };
  // Every model since 2.5 thinks, and reads real JSON Schema.
  const isRecent = model.options?.thinking !== undefined;
  const param = "response_format.json_schema.schema";
  const { schema, dropped } = reduceSchema(
    format.json_schema.schema,
    isRecent ? jsonSchemaSubset : openApiSubset,
    param,
  );
  if (dropped.length > 0) note(`Left out of ${param}: ${dropped.join(", ")}`);
  return { responseMimeType, [isRecent ? "responseJsonSchema" : "responseSchema"]: schema };
}
