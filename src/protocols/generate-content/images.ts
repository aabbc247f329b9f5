import { GatewayError, UpstreamError } from "../../contract/index.ts";
import { nearestAspectRatio, nearestTo } from "../../lib/aspect-ratio.ts";
import { toBase64 } from "../../lib/base64.ts";
import type { Call, GeneratedImages, ImageEditsRequest, ImagesRequest, Model, Warn } from "../../provider/index.ts";
import { warnOfOthers } from "../supported-fields.ts";
import { generateContent } from "./answers.ts";
import type { GenerateAnswer, GenerateBody } from "./schema.ts";

const { expectAllowed, readCandidates, readTokenUsage } = generateContent;

/** Width by height. https://ai.google.dev/gemini-api/docs/image-generation#aspect_ratios */
const aspectRatios = ["1:1", "2:3", "3:2", "3:4", "4:3", "4:5", "5:4", "9:16", "16:9", "21:9"];
const imageSizes = { "1K": 1024, "2K": 2048, "4K": 4096 }; // The side of the square, in pixels.

/** The `images` handler of models of Google that answer with an image, one for each request. */
export async function images({ request, model, upstream, warn }: Call<ImagesRequest>): Promise<GeneratedImages> {
  const path = `/models/${model.upstreamId}:generateContent`;
  return fromImageAnswer(await upstream.json(path, toImageBody(request, model, warn)));
}

/** Makes images from other images. */
export async function imageEdits(call: Call<ImageEditsRequest>): Promise<GeneratedImages> {
  const { request, model, upstream, warn } = call;
  const { images: originals, ...fields } = request;
  const path = `/models/${model.upstreamId}:generateContent`;
  const data = await Promise.all(originals.map(async (image) => toBase64(await image.bytes())));
  const parts = originals.map(({ type }, index) => ({ inlineData: { mimeType: type, data: data[index] as string } }));
  return fromImageAnswer(await upstream.json(path, toImageBody(fields, model, warn, parts)));
}

/** @param originals The images that are edited. */
export function toImageBody(
  request: ImagesRequest,
  model: Model,
  warn: Warn,
  originals: GenerateBody["contents"][number]["parts"] = [],
): GenerateBody {
  const { prompt, size, quality } = request;
  const imageConfig = toImageConfig(size, quality, model.options?.imageSizes);
  const side = imageSizes[(imageConfig.imageSize ?? "1K") as keyof typeof imageSizes];
  const isOther = size && (!/^(auto|(1024|2048|4096)x\2)$/.test(size) || Number.parseInt(size, 10) > side);
  if (isOther) warn(`Used ${JSON.stringify(imageConfig)} instead of size ${size}`, "size");
  if (isFine(quality) && side < 2048) warn("Left out the quality: this model has one size", "quality");
  warnOfOthers(request, ["model", "prompt", "n", "size", "quality", "response_format", "stream"], warn);
  const maxOutputTokens = model.price?.imageOutputToken && model.outputTokensMax;
  const generationConfig = { responseModalities: ["TEXT", "IMAGE"], imageConfig, maxOutputTokens };
  return { contents: [{ role: "user", parts: [...originals, { text: prompt }] }], generationConfig };
}

const isFine = (quality: ImagesRequest["quality"]) => /^(hd|high|xhigh|max)$/.test(quality ?? "");

/** The shape and size nearest to WIDTHxHEIGHT, of those `sold` if given; with `auto` the model chooses, and 2K is `hd`. */
export function toImageConfig(size: ImagesRequest["size"], quality: ImagesRequest["quality"], sold?: unknown) {
  const [width = 1, height = 1] = (size === "auto" ? "" : (size ?? "1024x1024")).split("x").map(Number);
  const nearestSize = size === "auto" ? "1K" : nearestTo(imageSizes, Math.sqrt(width * height));
  const imageSize = isFine(quality) && nearestSize === "1K" ? "2K" : nearestSize;
  return {
    aspectRatio: size === "auto" ? undefined : nearestAspectRatio(aspectRatios, width / height),
    imageSize: Array.isArray(sold) && !sold.includes(imageSize) ? sold.at(-1) : imageSize,
  };
}

/**
 * The image of an answer; drafts in the reasoning are not images.
 * @throws {GatewayError} `invalid_request` when the prompt or the image was blocked, or the model answered in words, which
 * are paid for and not given out: this endpoint serves images only.
 * @throws {UpstreamError} `bad_response` when it answered nothing.
 */
export function fromImageAnswer(answer: GenerateAnswer): GeneratedImages {
  const [candidate = {}] = readCandidates(answer);
  const parts = (candidate.content?.parts ?? []).filter((part) => part.thought !== true);
  const usage = readTokenUsage(answer.usageMetadata, true);
  for (const { inlineData: { data = "", mimeType: mediaType = "" } = {} } of parts) {
    if (data !== "" && /^image\/(png|jpeg|webp)$/.test(mediaType)) return { images: [{ data, mediaType }], usage };
  }
  const words = parts.flatMap((part) => part.text ?? []).join("");
  expectAllowed(candidate, words !== "", "prompt");
  if (words === "") {
    throw new UpstreamError("bad_response", "The provider's answer contains no image", { isOfRequest: true });
  }
  const message = "The model returned text and no image: ask for an image";
  throw new GatewayError("invalid_request", message, { param: "prompt", publicCode: "content_policy_violation" });
}
