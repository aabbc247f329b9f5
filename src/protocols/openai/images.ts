import {
  type Call,
  type GeneratedImage,
  type GeneratedImages,
  type ImageSettings,
  type ImagesRequest,
  imageSettingNames,
  UpstreamFault,
} from "../../contract/index.ts";
import { readDataUrl } from "../../lib/data-url.ts";
import { isRecord } from "../../lib/json.ts";
import { classifyError } from "../upstream-errors.ts";
import { type ImagesOptions, resolveOptions } from "./options.ts";
import { toBody } from "./request.ts";

/** The image handler of a provider that speaks OpenAI's dialect. It asks for base64; an address is fetched. */
export function imagesHandler(defaults: ImagesOptions) {
  return async (call: Call<ImagesRequest>): Promise<GeneratedImages> => {
    const options = resolveOptions(defaults, call.model);
    const { response_format: _, ...request } = call.request;
    const omit = [...(options.omit ?? []), "partial_images"];
    const body = toBody({ request, model: call.model, warn: call.warn }, { ...options, omit });
    if (!options.omit?.includes("response_format")) body.response_format = "b64_json";
    return toImages(await call.upstream.json("/images/generations", body), call.upstream);
  };
}

/**
 * The pictures of an answer.
 *
 * @throws {UpstreamFault} When the answer holds an error or a picture in neither form.
 */
async function toImages(
  answer: unknown,
  upstream: Pick<Call<ImagesRequest>["upstream"], "download">,
): Promise<GeneratedImages> {
  if (!isRecord(answer) || !Array.isArray(answer.data) || answer.data.length === 0) throw classifyError(answer);
  const format = typeof answer.output_format === "string" ? answer.output_format : undefined;
  const images = answer.data.map((item: unknown) => toImage(item, format, upstream));
  return {
    images: await Promise.all(images),
    ...readSettings(answer),
    ...(isRecord(answer.usage) && { usage: answer.usage }),
  };
}

function readSettings(answer: Record<string, unknown>): { settings?: ImageSettings } {
  const said = imageSettingNames.flatMap((name) => (typeof answer[name] === "string" ? [[name, answer[name]]] : []));
  return said.length === 0 ? {} : { settings: Object.fromEntries(said) as ImageSettings };
}

async function toImage(
  item: unknown,
  format: string | undefined,
  upstream: Pick<Call<ImagesRequest>["upstream"], "download">,
): Promise<GeneratedImage> {
  if (!isRecord(item)) throw new UpstreamFault("bad_response", "The provider's answer holds no picture");
  const revisedPrompt = typeof item.revised_prompt === "string" ? item.revised_prompt : undefined;
  if (typeof item.b64_json === "string") {
    return { data: item.b64_json, mediaType: detectImageType(item.b64_json, format), revisedPrompt };
  }
  if (typeof item.url !== "string") throw new UpstreamFault("bad_response", "The provider's answer holds no picture");
  const inline = readDataUrl(item.url);
  if (inline !== undefined) return { data: inline.base64, mediaType: inline.mediaType, revisedPrompt };
  const { bytes, mediaType } = await upstream.download(item.url);
  return { data: bytes, mediaType, revisedPrompt };
}

/** By the first bytes, which do not lie; then by what the provider said. */
function detectImageType(base64: string, format: string | undefined): string {
  if (base64.startsWith("iVBOR")) return "image/png";
  if (base64.startsWith("/9j/")) return "image/jpeg";
  if (base64.startsWith("UklGR")) return "image/webp";
  return `image/${format ?? "png"}`;
}
