import { createHash } from "node:crypto";
import { promisify } from "node:util";
import { brotliCompress, constants, gzip } from "node:zlib";
import { chooseEncoding, type ResponseHeaders } from "./headers.ts";

const compressGzip = promisify(gzip);
const compressBrotli = promisify(brotliCompress);
/** Within 5 % of the maximum quality, which takes ten times as long. */
const brotliQuality = 9;
const encodings = ["br", "gzip"] as const;

/** The bytes of a document in one encoding. */
interface Encoded {
  /** A blob, because responses share its bytes: an array would be copied for each. */
  readonly body: Blob;
  readonly etag: string;
}

/**
 * A document that is the same for everybody. Its bytes are made, compressed (off the event loop) and hashed once: anybody may
 * ask for it, also without a key, so a request must cost next to nothing.
 */
export class ConstantDocument {
  readonly #mediaType: string;
  readonly #read: () => Promise<Blob> | Blob;
  #encoded: Promise<Record<"plain" | (typeof encodings)[number], Encoded>> | undefined;

  /** @param read Makes the document at its first use. */
  constructor(mediaType: string, read: () => Promise<Blob> | Blob) {
    this.#mediaType = mediaType;
    this.#read = read;
  }

  /** Makes the document, unless it is made. A failure is tried again the next time. */
  prepare() {
    this.#encoded ??= this.#encode().catch((error) => {
      this.#encoded = undefined;
      throw error;
    });
    return this.#encoded;
  }

  /** Answers with the document in an encoding that the client takes, or with 304 when it has the document. */
  async respond(request: Request, headers: ResponseHeaders, status = 200): Promise<Response> {
    const encoded = await this.prepare();
    const encoding = chooseEncoding(request.headers.get("accept-encoding"), encodings);
    const { body, etag } = encoded[encoding ?? "plain"];
    const all = { ...headers, etag, vary: "accept-encoding" };
    if (status === 200 && hasEtag(request.headers.get("if-none-match"), etag)) {
      return new Response(null, { status: 304, headers: all });
    }
    const content = {
      "content-type": this.#mediaType,
      ...(encoding !== undefined && { "content-encoding": encoding }),
    };
    return new Response(body, { status, headers: { ...all, ...content } });
  }

  async #encode() {
    const plain = new Uint8Array(await (await this.#read()).arrayBuffer());
    const brotli = {
      [constants.BROTLI_PARAM_QUALITY]: brotliQuality,
      [constants.BROTLI_PARAM_SIZE_HINT]: plain.length,
    };
    const [gzipped, br] = await Promise.all([
      compressGzip(plain, { level: 9 }),
      compressBrotli(plain, { params: brotli }),
    ]);
    const hash = createHash("sha256").update(plain).digest("base64url").slice(0, 22);
    const toEncoded = (bytes: Uint8Array<ArrayBuffer>, suffix = "") => ({
      body: new Blob([bytes]),
      etag: `"${hash}${suffix}"`,
    });
    return {
      plain: toEncoded(plain),
      gzip: toEncoded(new Uint8Array(gzipped), "-gzip"),
      br: toEncoded(new Uint8Array(br), "-br"),
    };
  }
}

/** Whether a client has this version, by its `If-None-Match`: a list of etags, which proxies may have made weak. */
function hasEtag(listed: string | null, etag: string): boolean {
  if (listed === null) return false;
  return listed.split(",").some((one) => one.trim() === "*" || one.trim().replace(/^W\//, "") === etag);
}
