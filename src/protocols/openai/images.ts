import { UpstreamError } from "../../contract/index.ts";
import { toBase64 } from "../../lib/base64.ts";
import { readDataUrl } from "../../lib/data-url.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { detectMediaType } from "../../lib/media-type.ts";
import { isEndMark } from "../../lib/sse.ts";
import {
  type Call,
  type GeneratedImage,
  type GeneratedImages,
  type ImageEditsRequest,
  type ImageSettings,
  type ImageStream,
  type ImagesRequest,
  imageSettingNames,
  type PartialImage,
  type ServerEvent,
} from "../../provider/index.ts";
import { classifyError } from "../upstream-errors.ts";
import { type ImageEditsOptions, type ImagesOptions, resolveOptions, toBody } from "./request.ts";

/** The image handler of a provider that speaks OpenAI's dialect. It asks for base64; an address is fetched. */
export function imagesHandler(defaults: ImagesOptions) {
  return async (call: Call<ImagesRequest>): Promise<GeneratedImages | ImageStream> => {
    const options = resolveOptions(defaults, call.model);
    const body = toImageBody(call, call.request, options);
    const isStream = body.partial_images !== undefined;
    const path = "/images/generations";
    if (isStream) return new OpenaiImageStream(await call.upstream.events(path, { ...body, stream: true }));
    return toImages(await call.upstream.json(path, body), call.upstream);
  };
}

/** Makes images from other images. A stream is requested in JSON, with the images as data URLs. */
export function imageEditsHandler(defaults: ImageEditsOptions) {
  return async (call: Call<ImageEditsRequest>): Promise<GeneratedImages | ImageStream> => {
    const options = resolveOptions(defaults, call.model);
    const { images, mask, ...fields } = call.request;
    const body = toImageBody(call, fields, options);
    const path = "/images/edits";
    if (options.imagesAs === "urls") {
      if (mask !== undefined) call.warn("Left out mask: the provider does not take it", "mask");
      const urls = await Promise.all(images.map(async (image) => ({ type: "image_url", url: await toDataUrl(image) })));
      const input = urls.length === 1 ? { image: urls[0] } : { images: urls };
      return toImages(await call.upstream.json(path, { ...body, ...input }), call.upstream);
    }
    if (body.partial_images !== undefined) {
      const toRef = async (image: File) => ({ image_url: await toDataUrl(image) });
      const input = { images: await Promise.all(images.map(toRef)), ...(mask && { mask: await toRef(mask) }) };
      const events = await call.upstream.events(path, { ...body, ...input, stream: true });
      return new OpenaiImageStream(events);
    }
    const form = new FormData();
    for (const [name, value] of Object.entries(body)) {
      form.append(name, typeof value === "string" ? value : JSON.stringify(value));
    }
    for (const image of images) form.append(images.length === 1 ? "image" : "image[]", image, nameOf(image, "image"));
    if (mask !== undefined) form.append("mask", mask, nameOf(mask, "mask"));
    return toImages(await call.upstream.form(path, form), call.upstream);
  };
}

function toImageBody(call: Call<object>, fields: ImagesRequest, options: ImagesOptions): Record<string, unknown> {
  const { response_format: _, stream: __, partial_images: partials, ...request } = fields;
  const body = toBody({ request, model: call.model, warn: call.warn }, options);
  if (!options.omit?.includes("response_format")) body.response_format = "b64_json";
  if (!partials) return body;
  if (options.partialImages === true && (request.n ?? 1) === 1) body.partial_images = partials;
  else call.warn("Left out partial_images: the provider shows no unfinished images of this request", "partial_images");
  return body;
}

async function toDataUrl(image: File): Promise<string> {
  return `data:${image.type};base64,${toBase64(await image.bytes())}`;
}

/** Providers tell the format of a file by its ending. */
function nameOf({ name, type }: File, fallback: string): string {
  return /\.\w+$/.test(name) ? name : `${fallback}.${type.replace("image/", "")}`;
}

/** The unfinished images of a stream as they come, then the finished one. */
class OpenaiImageStream implements ImageStream<ServerEvent> {
  readonly events: AsyncIterable<ServerEvent>;
  isComplete = false;
  #isFinished = false;

  constructor(events: AsyncIterable<ServerEvent>) {
    this.events = events;
  }

  /** @throws {UpstreamError} When the event is an error or holds no image. */
  push({ data }: ServerEvent): (PartialImage | GeneratedImages)[] {
    if (isEndMark(data)) {
      this.isComplete = true;
      return [];
    }
    const event = parseJson(data, "event");
    if (!isRecord(event) || typeof event.b64_json !== "string") throw classifyError(event ?? data);
    const image = { data: event.b64_json, mediaType: detectImageType(event.b64_json, readFormat(event)) };
    if (String(event.type).endsWith(".completed")) {
      this.isComplete = true;
      this.#isFinished = true;
      return [{ images: [image], ...readDetails(event) }];
    }
    return [{ index: typeof event.partial_image_index === "number" ? event.partial_image_index : 0, ...image }];
  }

  end(): [] {
    if (this.#isFinished) return [];
    throw new UpstreamError("bad_response", "The provider's stream ended before the image was finished");
  }
}

/**
 * The images of an answer.
 *
 * @throws {UpstreamError} When the answer holds an error or an image in neither form.
 */
async function toImages(
  answer: unknown,
  upstream: Pick<Call<ImagesRequest>["upstream"], "download">,
): Promise<GeneratedImages> {
  if (!isRecord(answer) || !Array.isArray(answer.data) || answer.data.length === 0) throw classifyError(answer);
  const format = readFormat(answer);
  const images = answer.data.map((item: unknown) => toImage(item, format, upstream));
  return { images: await Promise.all(images), ...readDetails(answer) };
}

function readFormat({ output_format: format }: Record<string, unknown>): string | undefined {
  return typeof format === "string" ? format : undefined;
}

/** The settings and the usage that an answer, or the last event of a stream, reports. */
function readDetails(answer: Record<string, unknown>): Pick<GeneratedImages, "settings" | "usage"> {
  const settings = imageSettingNames.flatMap((name) =>
    typeof answer[name] === "string" ? [[name, answer[name]]] : [],
  );
  return {
    ...(settings.length > 0 && { settings: Object.fromEntries(settings) as ImageSettings }),
    ...(isRecord(answer.usage) && { usage: answer.usage }),
  };
}

async function toImage(
  item: unknown,
  format: string | undefined,
  upstream: Pick<Call<ImagesRequest>["upstream"], "download">,
): Promise<GeneratedImage> {
  if (!isRecord(item)) throw new UpstreamError("bad_response", "The provider's answer contains no image");
  const revisedPrompt = typeof item.revised_prompt === "string" ? item.revised_prompt : undefined;
  if (typeof item.b64_json === "string") {
    return { data: item.b64_json, mediaType: detectImageType(item.b64_json, format), revisedPrompt };
  }
  if (typeof item.url !== "string") throw new UpstreamError("bad_response", "The provider's answer contains no image");
  const inline = readDataUrl(item.url);
  if (inline !== undefined) return { data: inline.base64, mediaType: inline.mediaType, revisedPrompt };
  const { bytes, mediaType } = await upstream.download(item.url);
  return { data: bytes, mediaType, revisedPrompt };
}

/** Detects the type by the first bytes, which are reliable, then by the provider's claim. */
function detectImageType(base64: string, format: string | undefined): string {
  return detectMediaType(base64) ?? `image/${format ?? "png"}`;
}
