import { type IncomingMessage, request as plainRequest } from "node:http";
import { Agent, type RequestOptions, request } from "node:https";
import { isIP, type LookupFunction } from "node:net";
import { GatewayError, mediaTypeOf } from "../../contract/index.ts";
import { readJson } from "../../lib/json.ts";
import { detectMediaType } from "../../lib/media-type.ts";
import { readShort } from "../../lib/read-short.ts";
import type { Bytes } from "./http-client.ts";
import { isLocalHost, isPublicAddress, type Resolve, resolveHost } from "./ssrf-guard.ts";

/** The largest file fetched for a caller, in bytes. */
export const downloadBytesMax = 20 * 1024 * 1024;
const downloadMsMax = 10_000;
const redirectsMax = 3;

/** The response to a GET. */
export interface PublicResponse {
  readonly status: number;
  readonly headers: Headers;
  readonly body: AsyncIterable<Uint8Array> | null;
}

/** Sends a GET to a public address and follows no redirect. The signal closes the connection. */
export type PublicGet = (url: URL, signal: AbortSignal) => Promise<PublicResponse>;

/** Body that {@link createPublicRequest} posts; absent: a GET. */
export interface PublicPost {
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** A file and its media type. */
export interface Download {
  readonly bytes: Bytes;
  readonly mediaType: string;
}

/**
 * Fetches a public file that a caller named by URL, for a provider that wants its bytes.
 *
 * @param reserve Counts bytes before they are kept; throws when there is no room for them.
 * @throws {GatewayError} `invalid_request` when the URL is not https, leads to a private address, is too large, too
 * slow or not there.
 */
export async function downloadPublic(
  get: PublicGet,
  text: string,
  signal: AbortSignal,
  reserve: (bytes: number) => void,
): Promise<Download> {
  const timer = AbortSignal.timeout(downloadMsMax);
  const end = new AbortController();
  const anySignal = AbortSignal.any([signal, timer, end.signal]);
  let next = text;
  try {
    for (let hop = 0; hop <= redirectsMax; hop++) {
      const { status, headers, body } = await get(readUrl(next), anySignal);
      const location = status >= 300 && status < 400 ? headers.get("location") : null;
      if (location !== null) {
        next = new URL(location, next).href;
        continue;
      }
      if (status < 200 || status > 299) throw refusal(`it answered ${status}`);
      const encoding = headers.get("content-encoding")?.toLowerCase() ?? "identity";
      if (encoding !== "identity") throw refusal("its server compressed it despite Accept-Encoding: identity");
      const bytes = await readBytes(body, reserve);
      const label = mediaTypeOf(headers.get("content-type")) ?? "application/octet-stream";
      return { bytes, mediaType: detectMediaType(bytes) ?? label };
    }
  } catch (error) {
    if (error instanceof GatewayError) throw error;
    throw refusal(timer.aborted ? `it took longer than ${downloadMsMax / 1000} s` : "it could not be reached", error);
  } finally {
    // Closes a body that was not read to its end.
    end.abort();
  }
  throw refusal(`it redirects more than ${redirectsMax} times`);
}

/** Whether a value contains exactly this text somewhere. */
export function containsText(value: unknown, text: string): boolean {
  if (typeof value === "string") return value === text;
  if (typeof value !== "object" || value === null) return false;
  // The runtime is slow to enumerate the members of a list as an object's.
  if (Array.isArray(value)) return value.some((member) => containsText(member, text));
  for (const name in value) if (containsText((value as Record<string, unknown>)[name], text)) return true;
  return false;
}

function readUrl(text: string): URL {
  const url = URL.parse(text);
  if (url === null) throw refusal("it is not a URL");
  if (url.protocol !== "https:") throw refusal("only https is fetched; send the bytes as a data URL instead");
  if (url.username !== "" || url.password !== "") throw refusal("it has a user name or a password");
  if (isLocalHost(bareHost(url))) throw notPublic();
  return url;
}

/** How {@link createPublicGet} reaches the network; a test sets its own. */
export interface PublicGetOptions {
  /** Looks a host name up; absent: by the operating system. */
  readonly resolve?: Resolve;
  readonly isPublic?: (address: string) => boolean;
  /** `HTTPS_PROXY` and `NO_PROXY`; absent: connections are direct. */
  readonly proxyEnv?: Readonly<Record<string, string>> | undefined;
  /** Certificate authorities in addition to the system's. */
  readonly ca?: string;
}

/**
 * A GET that connects to public addresses only. The name is resolved once, its addresses are checked, and the connection
 * goes to exactly these, so a name that changes between check and connection (DNS rebinding) does no harm. A proxy gets
 * the address and never the name, and `NO_PROXY` is compared with the address. Each request has its own connection, and
 * certificates are verified for the name.
 */
export function createPublicGet(options: PublicGetOptions = {}): PublicGet {
  return createPublicRequest(options);
}

/**
 * Creates a request like {@link createPublicGet} that can also send a POST. Over `http:` it never goes through a proxy.
 */
export function createPublicRequest(options: PublicGetOptions = {}) {
  const { resolve = resolveHost, isPublic = isPublicAddress, proxyEnv, ca } = options;
  return async (url: URL, signal: AbortSignal, post?: PublicPost): Promise<PublicResponse> => {
    const host = bareHost(url);
    const addresses = isIP(host) > 0 ? [host] : await resolve(host);
    const [first] = addresses;
    if (first === undefined || !addresses.every(isPublic)) throw notPublic();
    signal.throwIfAborted();
    const isPlain = url.protocol === "http:";
    const all: RequestOptions = {
      port: url.port === "" ? (isPlain ? 80 : 443) : Number(url.port),
      path: url.pathname + url.search,
      headers: {
        host: url.host,
        accept: "*/*",
        "accept-encoding": "identity",
        "user-agent": "modelgate",
        ...post?.headers,
      },
      ...(post !== undefined && { method: "POST" }),
      rejectUnauthorized: true,
      signal,
      ...(isIP(host) === 0 && { servername: host }),
      ...(ca !== undefined && { ca }),
    };
    const send = sendBy(isPlain ? plainRequest : request, post?.body);
    if (proxyEnv !== undefined && !isPlain) return send({ ...all, host: first, agent: new Agent({ proxyEnv }) });
    const records = addresses.map((address) => ({ address, family: isIP(address) }));
    const lookup: LookupFunction = (_, options, callback) =>
      options.all === true ? callback(null, records) : callback(null, first, isIP(first));
    // The platform tries these addresses in its own way, and no others.
    return send({ ...all, host, agent: false, lookup });
  };
}

const documentBytesMax = 262_144;
const documentMsMax = 5_000;

/**
 * Fetches a small JSON document, such as the keys of an issuer.
 *
 * @param request As {@link createPublicRequest} makes it, which decides where it may be.
 * @throws {Error} When it cannot be had, is too large or slow, no JSON, or elsewhere: no redirect is followed.
 */
export async function fetchDocument(request: PublicGet, url: string): Promise<unknown> {
  const end = new AbortController();
  try {
    const { status, body } = await request(
      new URL(url),
      AbortSignal.any([AbortSignal.timeout(documentMsMax), end.signal]),
    );
    if (status !== 200) throw new Error(`${url} answered ${status}`);
    const tooLarge = () => new Error(`${url} is larger than ${documentBytesMax} bytes`);
    return readJson(await readShort(body, documentBytesMax, tooLarge), "document");
  } finally {
    // Closes a body that was not read to its end.
    end.abort();
  }
}

function sendBy(send: typeof request, body: string | undefined): (options: RequestOptions) => Promise<PublicResponse> {
  return (options) =>
    new Promise((resolve, reject) => {
      const request = send(options, (response) => resolve(toResponse(response)));
      request.on("error", reject);
      request.end(body);
    });
}

function toResponse(message: IncomingMessage): PublicResponse {
  const headers = new Headers();
  for (const [name, value] of Object.entries(message.headers)) headers.set(name, String(value));
  // Without a listener an error after the head, such as an abort, would end the process.
  message.on("error", () => undefined);
  return { status: message.statusCode ?? 0, headers, body: message };
}

async function readBytes(body: PublicResponse["body"], reserve: (bytes: number) => void): Promise<Bytes> {
  const chunks: Bytes[] = [];
  let total = 0;
  for await (const chunk of body ?? []) {
    total += chunk.byteLength;
    if (total > downloadBytesMax) throw refusal(`it is larger than ${downloadBytesMax} bytes`);
    reserve(chunk.byteLength);
    chunks.push(chunk as Bytes);
  }
  return new Blob(chunks).bytes();
}

function bareHost({ hostname }: URL): string {
  return hostname.replace(/^\[|\]$/g, "");
}

function notPublic(): GatewayError {
  return refusal("its host is not on the public internet");
}

function refusal(reason: string, cause?: unknown): GatewayError {
  return new GatewayError("invalid_request", `Cannot fetch the file at this URL: ${reason}`, { cause });
}
