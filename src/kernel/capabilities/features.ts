import { type ChatRequest, type ContentPart, GatewayError, isEnded, type Model } from "../../contract/index.ts";
import type { ModelRun } from "../call.ts";
import { mayUse } from "../routing/allowed-models.ts";
import type { Kernel } from "../types.ts";

type Feature = NonNullable<Model["features"]>[number];

/** What a request asks of a model beside text, and where it does. */
type Needs = ReadonlyMap<Feature, string>;

/** What a model lacks, as a sentence goes on. */
const lacks: Readonly<Record<Feature, string>> = {
  vision: "takes no pictures",
  audio: "takes no audio",
  pdf: "takes no PDF files",
  tools: "calls no tools",
  json_schema: "cannot hold its answer to a JSON schema",
};
/** A word of ordinary text with the space before it, in characters, is longer. */
const wordCharsMean = 4;
/** The least output that the Responses protocol takes. */
const responseTokensMin = 16;
/** So many characters for each token that fits are counted: words of ordinary text with the space before them are shorter. */
const countedWordChars = 12;
/** How many other models an error names. */
const namedMax = 3;

/**
 * Refuses a request that the model cannot serve for certain: its row says what it can do and this is not in it, or the
 * prompt has more words than its context has tokens, or the model is served where an answer cannot be as short.
 *
 * @throws {GatewayError} `invalid_request` or `context_length_exceeded`, naming models that can and that the key may use.
 */
export function checkFeatures({ registry }: Kernel, run: ModelRun<"chat">): void {
  checkOutputLimit(run);
  const { request, modelEntry, passthrough } = run;
  const { model } = modelEntry;
  const needs: Needs = model.features === undefined || passthrough?.untranslatable ? new Map() : findNeeds(request);
  const missing = [...needs].find(([feature]) => !hasFeature(model, feature));
  // The provider shortens such a prompt itself.
  const isShortened = passthrough?.format.shortensPrompt(passthrough.body) === true;
  const tokensMin = isShortened ? 0 : countWords(request, model.contextTokens);
  const isTooLong = tokensMin > (model.contextTokens ?? Number.POSITIVE_INFINITY);
  if (missing === undefined && !isTooLong) return;
  const able: string[] = [];
  for (const { model: other } of registry.modelEntries) {
    if (able.length === namedMax) break;
    if (!mayUse(run.caller, other.id) || other.capability !== "chat" || isEnded(other, run.call.request.openedAt))
      continue;
    if (needs.size > 0 && other.features === undefined) continue;
    const fits = other.contextTokens !== undefined && other.contextTokens >= tokensMin;
    if ([...needs.keys()].every((feature) => hasFeature(other, feature)) && (fits || !isTooLong)) able.push(other.id);
  }
  const advice = able.length === 0 ? "GET /models tells what each model can" : `models that can: ${able.join(", ")}`;
  if (missing !== undefined) {
    const [feature, param] = missing;
    throw new GatewayError("invalid_request", `The model '${model.id}' ${lacks[feature]}; ${advice}`, { param });
  }
  const sentence = `This model's maximum context length is ${model.contextTokens} tokens. However, your messages have more words than that; ${advice}`;
  throw new GatewayError("context_length_exceeded", sentence, { param: "messages" });
}

function checkOutputLimit({ request, modelEntry: { model, routes } }: ModelRun<"chat">): void {
  const { max_completion_tokens: newer, max_tokens: older } = request;
  const limit = newer || older || responseTokensMin;
  if (limit >= responseTokensMin || routes.some((route) => route.model.endpoint !== "responses")) return;
  const param = newer ? "max_completion_tokens" : "max_tokens";
  const sentence = `${param} is ${limit}, but ${model.id} takes no less than ${responseTokensMin}`;
  throw new GatewayError("invalid_request", sentence, { param });
}

function hasFeature({ features }: Model, feature: Feature): boolean {
  return features === undefined || features.includes(feature);
}

function findNeeds({ messages, tools, functions, response_format: format }: ChatRequest): Needs {
  const needs = new Map<Feature, string>();
  if (tools?.length) needs.set("tools", "tools");
  else if (functions?.length) needs.set("tools", "functions");
  if (format?.type === "json_schema") needs.set("json_schema", "response_format");
  for (const [index, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [part, value] of content.entries()) {
      const feature = toFeature(value);
      if (feature !== undefined && !needs.has(feature)) needs.set(feature, `messages[${index}].content[${part}]`);
    }
  }
  return needs;
}

/** Files other than PDFs are not told apart by rows, and one by its id may be anything. */
function toFeature(part: ContentPart): Feature | undefined {
  if (part.type === "image_url") return "vision";
  if (part.type === "input_audio") return "audio";
  if (part.type !== "file") return undefined;
  const { file_data: data } = part.file as { file_data?: unknown };
  return typeof data === "string" && data.startsWith("data:application/pdf") ? "pdf" : undefined;
}

/**
 * The words of the messages, each of which is at least one token in every vocabulary. They are counted only where they are
 * likely to be too many: a shorter text that does not fit is refused by the provider. Of a text of many times the length
 * that fits a beginning is counted, and where its words are too many, those of the whole are estimated.
 */
function countWords({ messages }: ChatRequest, tokensMax: number | undefined): number {
  if (tokensMax === undefined) return 0;
  const texts = messages.flatMap(({ content }) =>
    typeof content === "string" ? content : (content ?? []).flatMap((part) => (part.type === "text" ? part.text : [])),
  );
  const length = texts.reduce((sum, text) => sum + text.length, 0);
  if (length < wordCharsMean * tokensMax) return 0;
  const countedMax = countedWordChars * tokensMax;
  let [words, counted] = [0, 0];
  for (const whole of texts) {
    const text = whole.slice(0, countedMax - counted);
    counted += text.length;
    let isWord = false;
    for (let at = 0; at < text.length; at++) {
      const code = text.charCodeAt(at);
      const isLetter = (code >= 97 && code <= 122) || (code >= 65 && code <= 90);
      if (isLetter && !isWord) words++;
      isWord = isLetter || (isWord && code !== 32 && code !== 10 && code !== 9 && code !== 13);
    }
  }
  return words > tokensMax ? Math.ceil((words * length) / counted) : words;
}
