import { lookup } from "node:dns/promises";
import { isIP } from "node:net";
import { GatewayError } from "../contract/index.ts";
import { isPublicAddress } from "./public-address.ts";

/** The largest public file fetched for a caller, in bytes. */
export const downloadBytesMax = 20 * 1024 * 1024;
const downloadMsMax = 10_000;
const redirectsMax = 3;

/**
 * Fetches a public file that a caller named by URL, for a provider that wants its bytes.
 *
 * @throws {GatewayError} `invalid_request` when the URL is not https, leads to a private address, is too large, too
 * slow or not there.
 */
export async function downloadPublic(
  fetch: typeof globalThis.fetch,
  url: string,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; mediaType: string }> {
  const timer = AbortSignal.timeout(downloadMsMax);
  let next = url;
  try {
    for (let hop = 0; hop <= redirectsMax; hop++) {
      await refusePrivate(next);
      const response = await fetch(next, { signal: AbortSignal.any([signal, timer]), redirect: "manual" });
      const location = response.headers.get("location");
      if (response.status >= 300 && response.status < 400 && location !== null) {
        await response.body?.cancel();
        next = new URL(location, next).href;
        continue;
      }
      if (!response.ok) {
        await response.body?.cancel();
        throw refusal(`it answered ${response.status}`);
      }
      return { bytes: await readBounded(response), mediaType: mediaTypeOf(response) };
    }
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw refusal(timer.aborted ? `it took longer than ${downloadMsMax / 1000} s` : "it could not be reached", error);
  }
  throw refusal(`it redirects more than ${redirectsMax} times`);
}

async function refusePrivate(text: string): Promise<void> {
  const url = URL.parse(text);
  if (url === null) throw refusal("it is not a URL");
  if (url.protocol !== "https:") throw refusal("only https is fetched; send the bytes as a data URL instead");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const addresses = isIP(host) > 0 ? [host] : (await lookup(host, { all: true })).map((entry) => entry.address);
  if (addresses.length === 0 || !addresses.every(isPublicAddress))
    throw refusal("its host is not on the public internet");
}

async function readBounded(response: Response): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for await (const part of response.body ?? []) {
    total += part.byteLength;
    if (total > downloadBytesMax) throw refusal(`it is larger than ${downloadBytesMax} bytes`);
    parts.push(part);
  }
  const bytes = new Uint8Array(total);
  let at = 0;
  for (const part of parts) {
    bytes.set(part, at);
    at += part.byteLength;
  }
  return bytes;
}

function mediaTypeOf(response: Response): string {
  const text = response.headers.get("content-type");
  return text === null ? "application/octet-stream" : (text.split(";")[0] as string).trim().toLowerCase();
}

function refusal(reason: string, cause?: unknown): GatewayError {
  return new GatewayError("invalid_request", `Cannot fetch the file of the given URL: ${reason}`, { cause });
}
