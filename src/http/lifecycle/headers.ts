/** Headers that do not depend on a call: those that keep a page safe, CORS, and the encoding of what is sent. */
import { brotliCompressSync, constants } from "node:zlib";

export type ResponseHeaders = Record<string, string>;

/** Keeps browsers from guessing the media type. */
export const nosniff = { "x-content-type-options": "nosniff" };

const common = { ...nosniff, "referrer-policy": "no-referrer" };
const data = {
  ...common,
  "cache-control": "no-store",
  "content-security-policy": "default-src 'none'; frame-ancestors 'none'",
};
const transport = { "strict-transport-security": "max-age=31536000" };

/** For data and errors: not cached, not framed, nothing executed. */
export function dataHeaders(request: Request): ResponseHeaders {
  return isSecure(request) ? { ...data, ...transport } : data;
}

/** For pages and their assets, with the content security policy of the page. */
export function pageHeaders(request: Request, policy: string): ResponseHeaders {
  const headers = { ...common, "content-security-policy": policy };
  return isSecure(request) ? { ...headers, ...transport } : headers;
}

/** Whether the client uses TLS, also where a proxy terminates it. */
export function isSecure(request: Request): boolean {
  const proto = request.headers.get("x-forwarded-proto");
  return proto === "https" || (proto === null && request.url.startsWith("https:"));
}

/** How long a browser may cache a preflight; Chromium's maximum. */
const preflightMaxAgeSeconds = 7200;

/**
 * Answers the question of a browser before it lets pages of these origins (`*`: of any) call the API with a key. No response allows credentials, so such a page cannot
 * use the session cookie of its visitor.
 */
export function allowOrigin(origins: readonly string[], request: Request): Response {
  const headers = new Headers({ "cache-control": "no-store" });
  if (allow(origins, headers, request)) {
    headers.set("access-control-allow-methods", "GET, POST, DELETE");
    headers.set("access-control-max-age", String(preflightMaxAgeSeconds));
    const requested = request.headers.get("access-control-request-headers");
    if (requested !== null) headers.set("access-control-allow-headers", requested);
  }
  return new Response(null, { status: 204, headers });
}

/** Lets the page that sent the request read its response. */
export function exposeResponse(origins: readonly string[], response: Response, request: Request): Response {
  const isRead = origins.length > 0 && request.method !== "OPTIONS" && allow(origins, response.headers, request);
  if (isRead) response.headers.set("access-control-expose-headers", "*");
  return response;
}

function allow(origins: readonly string[], headers: Headers, { headers: requested }: Request): boolean {
  const isAny = origins.includes("*");
  const origin = requested.get("origin");
  if (!isAny) headers.set("vary", "origin");
  if (origin === null || !(isAny || origins.includes(origin))) return false;
  headers.set("access-control-allow-origin", isAny ? "*" : origin);
  return true;
}

/** A smaller body fits the first packets anyway. */
const bytesMin = 1400;
/** About a millisecond for 100 kB. */
const brotliQuality = 4;

const encoders = {
  zstd: (bytes: Uint8Array<ArrayBuffer>) => Bun.zstdCompressSync(bytes),
  br: (bytes: Uint8Array<ArrayBuffer>) =>
    brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: brotliQuality } }),
  gzip: (bytes: Uint8Array<ArrayBuffer>) => Bun.gzipSync(bytes),
};
const encodings = Object.keys(encoders) as (keyof typeof encoders)[];

/** The first of the offered encodings that a client accepts; undefined: none. */
export function chooseEncoding<T extends string>(accepted: string | null, offered: readonly T[]): T | undefined {
  const words = (accepted ?? "").toLowerCase().split(",");
  return offered.find((name) =>
    words.some((word) => {
      const [encoding, ...parameters] = word.split(";").map((part) => part.trim());
      return encoding === name && !parameters.some((parameter) => /^q=0(\.0*)?$/.test(parameter));
    }),
  );
}

/**
 * JSON for a page, compressed where that is worth it; it is stored by no cache, so it needs no `vary`. Calls of the API stay
 * as they are: their time counts more.
 */
export function jsonForPage(request: Request, value: unknown, headers: HeadersInit): Response {
  const response = new Headers(headers);
  response.set("content-type", "application/json;charset=utf-8");
  const bytes = new TextEncoder().encode(JSON.stringify(value));
  const encoding =
    bytes.length < bytesMin ? undefined : chooseEncoding(request.headers.get("accept-encoding"), encodings);
  if (encoding === undefined) return new Response(bytes, { headers: response });
  response.set("content-encoding", encoding);
  return new Response(new Uint8Array(encoders[encoding](bytes)), { headers: response });
}
