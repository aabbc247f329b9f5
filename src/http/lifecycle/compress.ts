import { brotliCompressSync, constants } from "node:zlib";

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
