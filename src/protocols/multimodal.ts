import { badRequest, GatewayError } from "../contract/index.ts";
import { toBase64 } from "../lib/base64.ts";
import type { DataUrl } from "../lib/data-url.ts";
import type { ChatRequest, CheckInput, Message, Upstream } from "../provider/index.ts";

/** How many images one request may have fetched: each has up to 20 MB and is held in memory. */
const fetchesMax = 16;

/**
 * Fetches the images that messages name by address, each once, for providers that want their bytes.
 *
 * @returns The images by their addresses; those sent as `data:` URLs are not among them.
 * @throws {GatewayError} `invalid_request`, with the part's place, when one cannot be fetched or there are more than 16.
 *
 * @example
 * const url = "https://example.com/a.png";
 * const content = [{ type: "image_url", image_url: { url } }];
 * const download = async () => ({ bytes: new Uint8Array([104, 105]), mediaType: "image/png" });
 * const images = await fetchImages([{ role: "user", content }], { download });
 * images.get(url); // => { mediaType: "image/png", base64: "aGk=" }
 */
export async function fetchImages(messages: readonly Message[], upstream: Upstream): Promise<Map<string, DataUrl>> {
  const params = new Map<string, string>();
  for (const [turn, { content }] of messages.entries()) {
    if (!Array.isArray(content)) continue;
    for (const [index, part] of content.entries()) {
      if (part.type !== "image_url" || /^data:/i.test(part.image_url.url)) continue;
      const param = `messages[${turn}].content[${index}].image_url.url`;
      if (!params.has(part.image_url.url)) params.set(part.image_url.url, param);
      if (params.size <= fetchesMax) continue;
      throw badRequest(`The request has more than ${fetchesMax} URLs of images; send the others as data URLs`, param);
    }
  }
  const fetches = [...params].map(async ([url, param]): Promise<[string, DataUrl]> => {
    const { bytes, mediaType } = await upstream.download(url).catch((cause) => {
      if (!(cause instanceof GatewayError)) throw cause;
      throw new GatewayError(cause.code, cause.message, { param, cause, retryAfterMs: cause.retryAfterMs });
    });
    return [url, { mediaType, base64: toBase64(bytes) }];
  });
  return new Map(await Promise.all(fetches));
}

type Translate = (request: ChatRequest, input: CheckInput<ChatRequest> & { warn: () => void }) => unknown;

/**
 * Makes a plugin's pure translation its `checks.chat`. It runs where a request holds what a provider may not take: parts
 * other than text, tools, their results, or an asked format. The deprecated `functions` are left to the handler, which
 * turns them into tools first.
 *
 * @param translate Throws `invalid_request` for what it cannot say; what it returns is dropped, and so are its notes.
 *
 * @example
 * const seen = [];
 * const check = precheckMultimodal((request) => seen.push(request.tools.length));
 * check({ request: { messages: [{ role: "user", content: "Hi" }] } });
 * check({ request: { messages: [], tools: [{ type: "function", function: { name: "weather" } }] } });
 * seen; // => [1]
 */
export function precheckMultimodal(translate: Translate): (input: CheckInput<ChatRequest>) => void {
  return (input) => {
    if (holdsMoreThanText(input.request)) translate(input.request, { ...input, warn: () => undefined });
  };
}

function holdsMoreThanText({ messages, tools, response_format: format, functions }: ChatRequest): boolean {
  if (functions || messages.some(({ role, function_call: call }) => role === "function" || call)) return false;
  if (format || (tools && tools.length > 0)) return true;
  return messages.some(({ role, content, tool_calls: calls }) => role === "tool" || calls || Array.isArray(content));
}

/**
 * Stands for the images of a request before they were fetched: every https address is a PNG.
 *
 * @example
 * placeholderImages.get("https://example.com/a.jpg").mediaType; // => "image/png"
 */
export const placeholderImages: Pick<ReadonlyMap<string, DataUrl>, "get"> = {
  get: (url) => (/^https:/i.test(url) ? { mediaType: "image/png", base64: "AAAA" } : undefined),
};
