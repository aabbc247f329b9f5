import { type AnswerOf, type Call, isRecord, type RequestOf, UpstreamError, warnOfOthers } from "modelgate/plugin";
import { GatewayError } from "../../src/contract/index.ts";
import { nearestAspectRatio } from "../../src/lib/aspect-ratio.ts";

/** https://docs.aws.amazon.com/bedrock/latest/userguide/model-parameters-stability-diffusion.html */
const aspectRatios = ["16:9", "1:1", "21:9", "2:3", "3:2", "4:5", "5:4", "9:16", "9:21"];
const translated = ["model", "prompt", "n", "size", "output_format", "response_format", "stream"];

/** One image of a model of Stability AI, of about a megapixel in the nearest of its aspect ratios. */
export async function images(call: Call<RequestOf<"images">>, path: string): Promise<AnswerOf<"images">> {
  const { request, upstream, warn } = call;
  const { prompt, size, output_format: format } = request;
  warnOfOthers(request, translated, warn);
  const [width = 1, height = 1] = (size === "auto" ? "" : (size ?? "")).split("x").filter(Boolean).map(Number);
  const aspect_ratio = nearestAspectRatio(aspectRatios, width / height);
  if (size && size !== "auto" && size !== "1024x1024") warn(`Used ${aspect_ratio} instead of size ${size}`, "size");
  const output_format = format === "jpeg" ? "jpeg" : "png";
  if (format && format !== output_format)
    warn(`Used ${output_format} instead of output_format ${format}`, "output_format");
  const answer = await upstream.json(path, { prompt, aspect_ratio, output_format });
  const { images: [data] = [], finish_reasons: [reason] = [] } = readAnswer(answer);
  // A success has no reason to finish; an image that was filtered may come along, blurred.
  const isDone = reason === undefined || reason === null;
  if (isDone && typeof data === "string" && data !== "")
    return { images: [{ data, mediaType: `image/${output_format}` }] };
  if (typeof reason === "string" && reason.startsWith("Filter reason")) {
    const message = `The provider's safety system refused this (${reason}): change the prompt`;
    throw new GatewayError("invalid_request", message, { param: "prompt", publicCode: "content_policy_violation" });
  }
  throw new UpstreamError("bad_response", "The provider's answer has no image");
}

function readAnswer(answer: unknown): { images?: unknown[]; finish_reasons?: unknown[] } {
  const { images, finish_reasons: reasons }: Record<string, unknown> = isRecord(answer) ? answer : {};
  return { ...(Array.isArray(images) && { images }), ...(Array.isArray(reasons) && { finish_reasons: reasons }) };
}
