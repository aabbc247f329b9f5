import { isIP } from "node:net";
import { GatewayError } from "../contract/index.ts";
import { resolveHost } from "./host-guard.ts";
import { isLocalHost, isPublicAddress } from "./public-address.ts";
import type { Answer, Ask } from "./wire/ask.ts";
import { readPiece } from "./wire/read-piece.ts";

/** The largest public file fetched for a caller, in bytes. */
export const downloadBytesMax = 20 * 1024 * 1024;
const downloadMsMax = 10_000;
const redirectsMax = 3;
const noHeaders = {};

/**
 * Fetches a public file that a caller named by URL, for a provider that wants its bytes.
 *
 * @param ask Connects to public addresses alone: a name can lead elsewhere at its second look-up than at its first.
 * @throws {GatewayError} `invalid_request` when the URL is not https, leads to a private address, is too large, too
 * slow or not there.
 */
export async function downloadPublic(
  ask: Ask,
  url: string,
  signal: AbortSignal,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; mediaType: string }> {
  const timer = AbortSignal.timeout(downloadMsMax);
  let next = url;
  try {
    for (let hop = 0; hop <= redirectsMax; hop++) {
      const { origin, pathname, search } = await readPublic(next);
      const question = {
        baseUrl: origin,
        path: pathname + search,
        headers: noHeaders,
        more: undefined,
        body: undefined,
      };
      const answer = await ask({ ...question, signal: AbortSignal.any([signal, timer]) });
      const { status } = answer;
      const location = status >= 300 && status < 400 ? answer.headers().get("location") : null;
      if (location !== null) {
        answer.cancel();
        next = new URL(location, next).href;
        continue;
      }
      if (status < 200 || status > 299) {
        answer.cancel();
        throw refusal(`it answered ${status}`);
      }
      return { bytes: await readBounded(answer), mediaType: mediaTypeOf(answer) };
    }
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw refusal(timer.aborted ? `it took longer than ${downloadMsMax / 1000} s` : "it could not be reached", error);
  }
  throw refusal(`it redirects more than ${redirectsMax} times`);
}

async function readPublic(text: string): Promise<URL> {
  const url = URL.parse(text);
  if (url === null) throw refusal("it is not a URL");
  if (url.protocol !== "https:") throw refusal("only https is fetched; send the bytes as a data URL instead");
  if (url.username !== "" || url.password !== "") throw refusal("it holds a user name or a password");
  const host = url.hostname.replace(/^\[|\]$/g, "");
  const isPublic = isIP(host) > 0 || isLocalHost(host) ? !isLocalHost(host) : await leadsOutside(host);
  if (!isPublic) throw refusal("its host is not on the public internet");
  return url;
}

async function leadsOutside(host: string): Promise<boolean> {
  const addresses = await resolveHost(host);
  return addresses.length > 0 && addresses.every(isPublicAddress);
}

async function readBounded(answer: Answer): Promise<Uint8Array<ArrayBuffer>> {
  const parts: Uint8Array[] = [];
  let total = 0;
  for (let part = await readPiece(answer); part !== undefined; part = await readPiece(answer)) {
    total += part.byteLength;
    if (total > downloadBytesMax) {
      answer.cancel();
      throw refusal(`it is larger than ${downloadBytesMax} bytes`);
    }
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

function mediaTypeOf({ contentType: text }: Answer): string {
  return text === undefined ? "application/octet-stream" : (text.split(";")[0] as string).trim().toLowerCase();
}

function refusal(reason: string, cause?: unknown): GatewayError {
  return new GatewayError("invalid_request", `Cannot fetch the file of the given URL: ${reason}`, { cause });
}
