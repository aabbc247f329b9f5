import { Value } from "@sinclair/typebox/value";
import { getBasicMeters, type Meters, TokenUsage, toTokenMeters, UpstreamError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import {
  type Call,
  type GeneratedImages,
  type ImageEditsBody,
  ImageEditsFields,
  type ImageEditsRequest,
  type ImageStream,
  type ImagesRequest,
  type Model,
  mapPieces,
  type PartialImage,
  type ProviderPlugin,
} from "../../provider/index.ts";
import type { ModelRun } from "../call.ts";
import { withFailover } from "../failover.ts";
import { boundText, textPieces } from "../normalize/prompt-bounds.ts";
import { countPieces } from "../normalize/tokenizer.ts";
import { type BegunStream, begin, pump, StreamReader, toReader } from "../streaming.ts";
import type { CapabilityHandler } from "../types.ts";
import { OtherFormError } from "../upstream/answer-form.ts";
import type { SentRequest } from "../upstream/upstream.ts";
import { settleRequests } from "./fan-out.ts";

/** An image of a model that says nothing of its tokens: more than any takes. */
const imageTokensDefault = 32_768;
/** An image that goes in, of a model that does not say. */
const imageInputTokensDefault = 10_000;
/**
 * Tokens of an unfinished image, on top of the finished one.
 * https://developers.openai.com/api/docs/guides/image-generation
 */
const partialImageTokens = 100;
/** Tokens that a provider counts on top of the words of a prompt. */
const extraTokens = 64;

type ImagesRun = ModelRun<"images" | "imageEdits">;
type AnyRequest = ImagesRequest | ImageEditsBody;

/** Generation and editing: they differ in what goes in. */
const handler: CapabilityHandler<"images" | "imageEdits"> = {
  validate() {},

  upperBound: (run) => ({
    upper: toMeters(run, getWanted(run.request), boundText(wordsOf(run.request), ImageEditsFields) + extraTokens),
  }),
  promptTokens: ({ request }) => boundText(wordsOf(request), ImageEditsFields),

  toReport: (run, usage) => (isByToken(run) ? toReported(run, usage) : undefined),

  /**
   * Counts the images that were returned, and the images of requests that were cut by the gateway or the connection,
   * because the provider still makes those. For a price by token, each image has the most tokens that it may have, and
   * each request its prompt.
   */
  async estimate(run) {
    const { owedRequests: owed, usageMeter } = run;
    const open = owed.filter(({ usage }) => usage === undefined);
    const count = getWanted(run.request);
    const each = run.modelEntry.routes.some((route) => needsFanOut(route.plugin, count)) ? 1 : count;
    const spare = isByToken(run)
      ? usageMeter.output.length - each * (owed.length - open.length)
      : usageMeter.output.length;
    const images = Math.min(count, Math.max(0, spare) + each * open.filter(isCut).length);
    if (!isByToken(run)) return toImageMeters(run, images);
    const promptTokens = await countPieces(textPieces(wordsOf(run.request), ImageEditsFields), true);
    const meters = toMeters(run, images, promptTokens);
    const requests = Math.max(images, open.length);
    const imageInputToken = requests * imageInputTokensMax(run);
    return { ...meters, inputToken: requests * promptTokens, ...(imageInputToken > 0 && { imageInputToken }) };
  },

  async execute(kernel, run) {
    const { call, request, usageMeter, sink } = run;
    const opened = await withFailover(kernel, run, {
      requestFor(model, attempt): AnyRequest {
        const quality = toBoundQuality(request, model);
        if (quality === request.quality) return request;
        attempt.warn(
          `Used quality ${quality} instead of ${request.quality}, for which the number of tokens is unknown`,
          "quality",
        );
        return { ...request, quality } as AnyRequest;
      },
      run: (plugin, pluginCall) => openImages(plugin, pluginCall, call.request.capability),
    });
    let answer: GeneratedImages | undefined;
    let partials = 0;
    const take = (item: ImageItem) => {
      call.throwIfCancelled();
      if (isFinished(item)) {
        answer = item;
        return undefined;
      }
      if (partials++ === 0) sink?.open();
      return sink?.write(item);
    };
    await pump(opened, take, { isComplete: () => answer !== undefined });
    if (answer === undefined) {
      throw new UpstreamError("bad_response", "The provider's stream ended before the image was finished");
    }
    usageMeter.produced = true;
    usageMeter.complete = true;
    usageMeter.output.length = answer.images.length;
    const meters = isByToken(run)
      ? toReported(run, answer.usage)
      : toImageMeters(run, Math.min(getWanted(request), answer.images.length + run.owedRequests.filter(isCut).length));
    if (meters !== undefined) usageMeter.report(meters, answer.usage);
    return answer;
  },
};

export const imagesCapability = handler as unknown as CapabilityHandler<"images">;
export const imageEditsCapability = handler as unknown as CapabilityHandler<"imageEdits">;

/** The fields that hold words. */
function wordsOf(request: AnyRequest): object {
  const { images: _, mask: __, ...fields } = request as ImageEditsBody;
  return fields;
}

/** Input tokens that the provider does not divide count as text if the request has no images, otherwise as images. */
function toReported({ call }: ImagesRun, usage: unknown): Meters | undefined {
  const input = call.request.capability === "imageEdits" ? "image_tokens" : "text_tokens";
  return toTokenMeters(usage, { input, output: "image_tokens" });
}

/** Its answer, or the rest of it, was not waited for. */
const isCut = ({ cutBytes, isWhole }: SentRequest) => cutBytes > 0 || !isWhole;

const getWanted = ({ n }: AnyRequest) => n || 1;

function isByToken({ modelEntry: { model } }: ImagesRun): boolean {
  return !getBasicMeters("images", model.price).includes("image");
}

/** OpenAI's present names of the qualities. */
const qualities: Readonly<Record<string, string>> = { standard: "medium", hd: "high" };

/** Above `high`, the finest first. */
const finest = ["max", "xhigh"];

/**
 * The quality to request from a model. A quality above `high` is requested only if the model's row declares its number
 * of tokens; otherwise the next lower one, because no hold would cover an image with an unbounded number of tokens.
 */
function toBoundQuality(
  { quality, size }: AnyRequest,
  { imageOutputTokensMax: tokensBy }: Model,
): ImagesRequest["quality"] {
  const place = finest.indexOf(quality ?? "");
  if (tokensBy === undefined || place < 0) return quality;
  const isKnown = (name: string) => tokensBy[name] !== undefined || tokensBy[`${name} ${size}`] !== undefined;
  return finest.slice(place).find(isKnown) ?? "high";
}

/**
 * The most tokens of an image: by quality and size, or by quality; where the provider chooses, the most of all. A quality that the row does not know may
 * take more than those.
 */
function getImageTokensMax(request: AnyRequest, model: Model): number {
  const { imageOutputTokensMax: tokensBy, outputTokensMax } = model;
  if (tokensBy === undefined) return outputTokensMax ?? imageTokensDefault;
  const { size } = request;
  const quality = toBoundQuality(request, model);
  const requested = qualities[quality ?? ""] ?? quality;
  const most = Math.max(...Object.values(tokensBy));
  if (!requested || requested === "auto") return most;
  return (
    tokensBy[`${requested} ${size}`] ??
    tokensBy[`${requested}`] ??
    Math.max(most, outputTokensMax ?? imageTokensDefault)
  );
}

/** The meters of a number of images, each with the prompt and the most output tokens that it can have. */
function toMeters(run: ImagesRun, images: number, promptTokens: number): Meters {
  if (!isByToken(run)) return toImageMeters(run, images);
  const { request, modelEntry } = run;
  const each = Math.max(...modelEntry.routes.map(({ model }) => getImageTokensMax(request, model)));
  const partials = partialImageTokens * (request.partial_images ?? 0);
  const imageInputToken = images * imageInputTokensMax(run);
  return {
    inputToken: images * promptTokens,
    ...(imageInputToken > 0 && { imageInputToken }),
    imageOutputToken: images * (each + partials),
  };
}

/** Images of a model that is charged by the image: those that go in count for each that is made, where they have a price. */
function toImageMeters(run: ImagesRun, images: number): Meters {
  const { images: inputs = [] } = run.request as Partial<ImageEditsBody>;
  const isPriced = run.modelEntry.model.price?.inputImage !== undefined && inputs.length > 0;
  return { image: images, ...(isPriced && { inputImage: images * inputs.length }) };
}

/** The most tokens of all images that go in; a mask is one. */
function imageInputTokensMax({ request, modelEntry: { routes } }: ImagesRun): number {
  const { images = [], mask } = request as Partial<ImageEditsBody>;
  const count = images.length + (mask === undefined ? 0 : 1);
  return count * Math.max(...routes.map(({ model }) => model.imageTokensMax ?? imageInputTokensDefault));
}

function needsFanOut({ maxChoices }: ProviderPlugin, count: number): boolean {
  return maxChoices.images !== undefined && count > maxChoices.images;
}

/** An item of an answer. The last one has the finished images. */
type ImageItem = PartialImage | GeneratedImages;

type Ask = (call: Call<AnyRequest>) => Promise<GeneratedImages | ImageStream>;

/**
 * Sends one request, or one for each image where the provider makes only one at a time; these show no unfinished ones. It waits
 * until the answer begins. One that came whole is a stream of a single item.
 */
async function openImages(
  plugin: ProviderPlugin,
  call: Call<AnyRequest>,
  capability: "images" | "imageEdits",
): Promise<BegunStream<ImageItem>> {
  const { handlers } = plugin;
  const ask = handlers[capability]?.bind(handlers) as Ask | undefined;
  if (ask === undefined) throw new TypeError(`Plugin '${plugin.name}' has no ${capability} handler`);
  const withFiles = await fetchFiles(call);
  const count = getWanted(call.request);
  const either: Ask = (single) => ask(single).catch((error) => readWhole(ask, single, error));
  const answer = needsFanOut(plugin, count) ? await askForEach(either, withFiles, capability) : await either(withFiles);
  const check = (item: ImageItem) => (isFinished(item) ? checkImages(item, count, capability) : item);
  const reader = isStream(answer)
    ? new StreamReader(mapPieces(answer, check))
    : toReader<ImageItem>([checkImages(answer, count, capability)]);
  return await begin(reader, () => true);
}

/** Reads a whole answer that came although a stream of unfinished images was requested. */
async function readWhole(ask: Ask, call: Call<AnyRequest>, error: unknown): Promise<GeneratedImages | ImageStream> {
  if (!(error instanceof OtherFormError)) throw error;
  const { partial_images: _, stream: __, ...request } = call.request;
  return await ask({ ...call, request: request as AnyRequest, upstream: error.replay(call.upstream) });
}

/** A third-party plugin may return nothing. */
function isStream(answer: GeneratedImages | ImageStream | undefined): answer is ImageStream {
  return typeof answer === "object" && answer !== null && "push" in answer;
}

function isFinished(item: ImageItem): item is GeneratedImages {
  return "images" in item;
}

/** Downloads the images that the request names by URL. Returns the call with the files instead. */
async function fetchFiles(call: Call<AnyRequest>): Promise<Call<AnyRequest>> {
  const { images, mask } = call.request as Partial<ImageEditsBody>;
  if (images === undefined) return call;
  const fetchFile = async (image: File | string, index: number): Promise<File> => {
    if (typeof image !== "string") return image;
    const { bytes, mediaType } = await call.upstream.download(image);
    return new File([bytes], `image-${index}`, { type: mediaType });
  };
  const files = await Promise.all(images.map(fetchFile));
  const request: ImageEditsRequest = {
    ...call.request,
    images: files,
    mask: mask === undefined ? undefined : await fetchFile(mask, files.length),
  };
  return { ...call, request };
}

async function askForEach(
  ask: Ask,
  call: Call<AnyRequest>,
  capability: "images" | "imageEdits",
): Promise<GeneratedImages> {
  const count = getWanted(call.request);
  const { partial_images: _, ...request } = call.request;
  const single = { ...call, request: { ...request, n: 1 } as AnyRequest };
  const image = async () => {
    const answer = await ask(single);
    if (isStream(answer)) throw new TypeError("The handler streamed images for a request without stream: true");
    return checkImages(answer, 1, capability);
  };
  const answers = await settleRequests(
    Array.from({ length: count }, () => image()),
    call.warn,
  );
  const images = answers.flatMap((answer) => answer.images.slice(0, 1));
  const usage = sumUsage(answers.map((answer) => answer.usage));
  return { images, usage, settings: answers[0]?.settings };
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

function checkImages(answer: GeneratedImages, count: number, capability: "images" | "imageEdits"): GeneratedImages {
  if (!Array.isArray(answer?.images) || answer.images.length === 0) {
    throw new UpstreamError("bad_response", "The provider's answer has no image");
  }
  const { usage, settings } = answer;
  const images = answer.images.slice(0, count);
  if (!Value.Check(TokenUsage, usage)) return { images, settings };
  const { output_tokens_details: output }: Record<string, unknown> = usage;
  const drawn = isRecord(output) && typeof output.image_tokens === "number" ? output.image_tokens : undefined;
  const divided = drawn !== undefined && {
    output_tokens_details: { text_tokens: usage.output_tokens - drawn, ...(output as object) },
  };
  // Where the provider does not divide the input.
  const [text, drawnIn] = capability === "images" ? [usage.input_tokens, 0] : [0, usage.input_tokens];
  const details = { input_tokens_details: { text_tokens: text, image_tokens: drawnIn } };
  return { images, settings, usage: { ...details, ...usage, ...divided } };
}
