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
import { isRecord } from "../../sdk/json.ts";
import type { CallContext } from "../call-context.ts";
import { boundText, readText } from "../normalize/prompt-bounds.ts";
import { countPieces } from "../normalize/tokenizer.ts";
import { withFailover } from "../routing/failover.ts";
import type { CapabilityHandler } from "../types.ts";

/** A picture of a model that says nothing of its tokens: more than any takes. */
const imageTokensDefault = 32_768;
/** What a provider counts beside the words of a prompt. */
const extraTokens = 64;

export const imagesHandler: CapabilityHandler<"images"> = {
  validate() {},

  upperBound: (call) => toMeters(call, getWanted(call.request), boundText(call.request, ImagesRequest) + extraTokens),
  promptTokens: ({ request }) => boundText(request, ImagesRequest),

  /** Only a complete answer is charged, and its images are counted. By the token, each has as many as it may have. */
  estimate: async (call) =>
    toMeters(
      call,
      call.usageMeter.output.length,
      isByToken(call) ? await countPieces(readText(call.request, ImagesRequest), true) : 0,
    ),

  async execute(kernel, call) {
    const { request, usageMeter } = call;
    const answer = await withFailover(kernel, call, { requestFor: () => request, run: generateImages });
    call.firstByteMs = kernel.now() - call.startedMs;
    usageMeter.produced = true;
    usageMeter.complete = true;
    usageMeter.output.length = answer.images.length;
    const meters = isByToken(call)
      ? toTokenMeters(answer.usage, { input: "text_tokens", output: "image_tokens" })
      : { image: answer.images.length };
    if (meters !== undefined) usageMeter.report(meters);
    return answer;
  },
};

const getWanted = ({ n }: ImagesRequest) => n || 1;

function isByToken({ modelEntry: { model } }: CallContext<"images">): boolean {
  return !getBasicMeters("images", model.price).includes("image");
}

/** OpenAI's present names of the qualities. */
const qualities: Readonly<Record<string, string>> = { standard: "medium", hd: "high" };

/**
 * By quality and size, or by quality; where the provider chooses, the most of all. A quality that the row does not know may
 * take more than those.
 */
function getImageTokensMax({ quality, size }: ImagesRequest, { imageOutputTokensMax: known, outputTokensMax }: Model) {
  if (known === undefined) return outputTokensMax ?? imageTokensDefault;
  const asked = qualities[quality ?? ""] ?? quality;
  const most = Math.max(...Object.values(known));
  if (!asked || asked === "auto") return most;
  return known[`${asked} ${size}`] ?? known[`${asked}`] ?? Math.max(most, outputTokensMax ?? imageTokensDefault);
}

/** So many pictures, each of which takes the prompt and the most tokens that it can have. */
function toMeters(call: CallContext<"images">, images: number, promptTokens: number): Meters {
  if (!isByToken(call)) return { image: images };
  const each = call.modelEntry.routes.map(({ model }) => getImageTokensMax(call.request, model));
  return { inputToken: images * promptTokens, imageOutputToken: images * Math.max(...each) };
}

/** Sends one request, or one for each image where the provider makes only one at a time. */
async function generateImages(plugin: ProviderPlugin, call: Call<ImagesRequest>): Promise<GeneratedImages> {
  const { handlers, maxChoices } = plugin;
  if (handlers.images === undefined) throw new TypeError(`Plugin '${plugin.name}' has no images handler`);
  const wanted = getWanted(call.request);
  if (maxChoices.images === undefined || wanted <= maxChoices.images)
    return checkImages(await handlers.images(call), wanted);
  const single = { ...call, request: { ...call.request, n: 1 } };
  const image = handlers.images.bind(handlers);
  const answers = await Promise.all(Array.from({ length: wanted }, () => image(single)));
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
