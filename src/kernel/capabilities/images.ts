import { Value } from "@sinclair/typebox/value";
import {
  type Call,
  type GeneratedImages,
  getBasicMeters,
  ImagesRequest,
  type Meters,
  type Model,
  type ProviderPlugin,
  TokenUsage,
  toTokenMeters,
  UpstreamFault,
} from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { ModelRun } from "../call.ts";
import { withFailover } from "../failover.ts";
import { boundText, readText } from "../normalize/prompt-bounds.ts";
import { countPieces } from "../normalize/tokenizer.ts";
import type { CapabilityHandler } from "../types.ts";
import type { SentRequest } from "../upstream/served.ts";
import { settleRequests } from "./fan-out.ts";

/** A picture of a model that says nothing of its tokens: more than any takes. */
const imageTokensDefault = 32_768;
/** What a provider counts beside the words of a prompt. */
const extraTokens = 64;

export const imagesHandler: CapabilityHandler<"images"> = {
  validate() {},

  upperBound: (run) => toMeters(run, getWanted(run.request), boundText(run.request, ImagesRequest) + extraTokens),
  promptTokens: ({ request }) => boundText(request, ImagesRequest),

  toReport: (run, usage) =>
    isByToken(run) ? toTokenMeters(usage, { input: "text_tokens", output: "image_tokens" }) : undefined,

  /**
   * The images that were given out, and those that were asked for by a request that the gateway or the connection cut, because
   * its provider goes on and makes them. By the token, each has as many as it may have, and each request its prompt.
   */
  async estimate(run) {
    const { owedRequests: owed, usageMeter } = run;
    const open = owed.filter(({ usage }) => usage === undefined);
    const wanted = getWanted(run.request);
    const each = run.modelEntry.routes.some((route) => needsFanOut(route.plugin, wanted)) ? 1 : wanted;
    const given = isByToken(run)
      ? usageMeter.output.length - each * (owed.length - open.length)
      : usageMeter.output.length;
    const images = Math.min(wanted, Math.max(0, given) + each * open.filter(isCut).length);
    if (!isByToken(run)) return { image: images };
    const promptTokens = await countPieces(readText(run.request, ImagesRequest), true);
    const meters = toMeters(run, images, promptTokens);
    return { ...meters, inputToken: Math.max(images, open.length) * promptTokens };
  },

  async execute(kernel, run) {
    const { request, usageMeter } = run;
    const answer = await withFailover(kernel, run, {
      requestFor(model, attempt) {
        const quality = toBoundQuality(request, model);
        if (quality === request.quality) return request;
        attempt.warn(`Took quality ${quality} for ${request.quality}, whose tokens are not known`, "quality");
        return { ...request, quality };
      },
      run: generateImages,
    });
    usageMeter.produced = true;
    usageMeter.complete = true;
    usageMeter.output.length = answer.images.length;
    const meters = isByToken(run)
      ? toTokenMeters(answer.usage, { input: "text_tokens", output: "image_tokens" })
      : { image: Math.min(getWanted(request), answer.images.length + run.owedRequests.filter(isCut).length) };
    if (meters !== undefined) usageMeter.report(meters);
    return answer;
  },
};

/** Its answer, or the rest of it, was not waited for. */
const isCut = ({ cutBytes, isWhole }: SentRequest) => cutBytes > 0 || !isWhole;

const getWanted = ({ n }: ImagesRequest) => n || 1;

function isByToken({ modelEntry: { model } }: ModelRun<"images">): boolean {
  return !getBasicMeters("images", model.price).includes("image");
}

/** OpenAI's present names of the qualities. */
const qualities: Readonly<Record<string, string>> = { standard: "medium", hd: "high" };

/** Above `high`, the finest first. */
const finest = ["max", "xhigh"];

/**
 * The quality that a model is asked for. One above `high` is asked for where the model's row says how many tokens it takes;
 * else the next below, because no hold would cover a picture of tokens without a known end.
 */
function toBoundQuality(
  { quality, size }: ImagesRequest,
  { imageOutputTokensMax: known }: Model,
): ImagesRequest["quality"] {
  const place = finest.indexOf(quality ?? "");
  if (known === undefined || place < 0) return quality;
  const isKnown = (name: string) => known[name] !== undefined || known[`${name} ${size}`] !== undefined;
  return finest.slice(place).find(isKnown) ?? "high";
}

/**
 * By quality and size, or by quality; where the provider chooses, the most of all. A quality that the row does not know may
 * take more than those.
 */
function getImageTokensMax(request: ImagesRequest, model: Model): number {
  const { imageOutputTokensMax: known, outputTokensMax } = model;
  if (known === undefined) return outputTokensMax ?? imageTokensDefault;
  const { size } = request;
  const quality = toBoundQuality(request, model);
  const asked = qualities[quality ?? ""] ?? quality;
  const most = Math.max(...Object.values(known));
  if (!asked || asked === "auto") return most;
  return known[`${asked} ${size}`] ?? known[`${asked}`] ?? Math.max(most, outputTokensMax ?? imageTokensDefault);
}

/** So many pictures, each of which takes the prompt and the most tokens that it can have. */
function toMeters(run: ModelRun<"images">, images: number, promptTokens: number): Meters {
  if (!isByToken(run)) return { image: images };
  const each = run.modelEntry.routes.map(({ model }) => getImageTokensMax(run.request, model));
  return { inputToken: images * promptTokens, imageOutputToken: images * Math.max(...each) };
}

function needsFanOut({ maxChoices }: ProviderPlugin, wanted: number): boolean {
  return maxChoices.images !== undefined && wanted > maxChoices.images;
}

/** Sends one request, or one for each image where the provider makes only one at a time. */
async function generateImages(plugin: ProviderPlugin, call: Call<ImagesRequest>): Promise<GeneratedImages> {
  const { handlers } = plugin;
  if (handlers.images === undefined) throw new TypeError(`Plugin '${plugin.name}' has no images handler`);
  const wanted = getWanted(call.request);
  if (!needsFanOut(plugin, wanted)) return checkImages(await handlers.images(call), wanted);
  const single = { ...call, request: { ...call.request, n: 1 } };
  const { images: ask } = handlers;
  const image = async () => checkImages(await ask.call(handlers, single), 1);
  const answers = await settleRequests(
    Array.from({ length: wanted }, () => image()),
    call.warn,
  );
  const images = answers.flatMap((answer) => answer.images.slice(0, 1));
  const usage = sumUsage(answers.map((answer) => answer.usage));
  return checkImages({ images, usage, settings: answers[0]?.settings }, wanted);
}

/** The sum, also of the details, or `undefined` when any part is unknown. */
function sumUsage(usages: GeneratedImages["usage"][]): GeneratedImages["usage"] {
  const sum: Record<string, unknown> = {};
  for (const usage of usages) {
    if (!Value.Check(TokenUsage, usage)) return undefined;
    addTo(sum, usage);
  }
  return sum;
}

function addTo(sum: Record<string, unknown>, part: Record<string, unknown>): void {
  for (const [name, value] of Object.entries(part)) {
    if (typeof value === "number") sum[name] = Number(sum[name] ?? 0) + value;
    if (!isRecord(value)) continue;
    const details = isRecord(sum[name]) ? sum[name] : {};
    addTo(details, value);
    sum[name] = details;
  }
}

function checkImages(answer: GeneratedImages, wanted: number): GeneratedImages {
  if (!Array.isArray(answer?.images) || answer.images.length === 0) {
    throw new UpstreamFault("bad_response", "The provider's answer has no image");
  }
  const { usage, settings } = answer;
  const images = answer.images.slice(0, wanted);
  if (!Value.Check(TokenUsage, usage)) return { images, settings };
  // Requests hold no pictures, so that all input is text where the provider does not divide it.
  const { output_tokens_details: output }: Record<string, unknown> = usage;
  const drawn = isRecord(output) && typeof output.image_tokens === "number" ? output.image_tokens : undefined;
  const divided = drawn !== undefined && {
    output_tokens_details: { text_tokens: usage.output_tokens - drawn, ...(output as object) },
  };
  const details = { input_tokens_details: { text_tokens: usage.input_tokens, image_tokens: 0 } };
  return { images, settings, usage: { ...details, ...usage, ...divided } };
}
