import { Buffer } from "node:buffer";
import { promisify } from "node:util";
import { gunzip, gzip } from "node:zlib";
import { decrypt, encrypt } from "../../contract/index.ts";
import type { KeyedRequest } from "../../db/index.ts";
import type { MemoryReservation } from "../memory/memory-accountant.ts";
import { ByteStream } from "./byte-stream.ts";
import type { ResponseHeaders } from "./security-headers.ts";

/** The largest answer that is stored, in bytes before compression. */
export const answerBytesMax = 8 * 1024 * 1024;
/** Headers of one request that are not true of a repeated one. */
const ownHeaders = /^(x-ratelimit-.*|x-client-request-id|x-modelgate-cost-usd|connection|retry-after)$/;
const [compress, decompress] = [promisify(gzip), promisify(gunzip)];

/** A response that can be sent again. */
interface StoredAnswer {
  readonly status: number;
  readonly headers: ResponseHeaders;
  readonly body: Buffer<ArrayBuffer>;
}

export function getStoredHeaders({ headers }: Response): ResponseHeaders {
  return Object.fromEntries([...headers].filter(([name]) => !ownHeaders.test(name)));
}

/** Compresses and encrypts an answer for its request alone. */
export async function pack(key: Uint8Array, request: KeyedRequest, answer: StoredAnswer): Promise<Uint8Array> {
  const { body, ...head } = answer;
  const packed = await compress(Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]));
  return encrypt(key, ownerOf(request), packed);
}

/**
 * @param reserve Counts what the answer takes, before it does.
 * @throws {Error} When the bytes are not those that {@link pack} made with this key for this request.
 */
export async function unpack(
  { key, request, packed }: { key: Uint8Array; request: KeyedRequest; packed: Uint8Array },
  reserve: (bytes: number) => void,
): Promise<StoredAnswer> {
  const compressed = decrypt(key, ownerOf(request), packed);
  // A gzip file ends with its length before compression.
  const length = compressed.readUInt32LE(compressed.length - 4);
  reserve(length);
  const bytes = (await decompress(compressed, { maxOutputLength: length })) as Buffer<ArrayBuffer>;
  const headEnd = bytes.indexOf("\n");
  const head = JSON.parse(bytes.subarray(0, headEnd).toString()) as Omit<StoredAnswer, "body">;
  return { ...head, body: bytes.subarray(headEnd + 1) };
}

function ownerOf({ accountId, id }: KeyedRequest): string {
  return `idempotency_key ${accountId} ${id}`;
}

/** The bytes of a body as it passes, up to the bound of one answer and of the memory that there is. */
export class BodyCopy {
  readonly #room: MemoryReservation;
  #chunks: Uint8Array[] | undefined = [];
  #bytes = 0;

  constructor(room: MemoryReservation) {
    this.#room = room;
  }

  /** Whether all was kept so far. */
  get isWhole(): boolean {
    return this.#chunks !== undefined;
  }

  add(chunk: Uint8Array): void {
    if (this.#chunks === undefined) return;
    this.#bytes += chunk.byteLength;
    try {
      this.#room.grow(chunk.byteLength);
      this.#chunks.push(chunk);
      if (this.#bytes > answerBytesMax) this.drop();
    } catch {
      // There is no memory for it.
      this.drop();
    }
  }

  /** The whole body; undefined when a part of it was not kept. */
  get bytes(): Buffer<ArrayBuffer> | undefined {
    return this.#chunks && Buffer.concat(this.#chunks);
  }

  drop(): void {
    this.#chunks = undefined;
    this.#room.release();
  }
}

interface CopyOptions {
  /** Absent for an answer that is not stored. */
  readonly copy: BodyCopy | undefined;
  /** Called before the end of the body is sent. `wasCut`: nobody was left to read it, so it was not read to its end. */
  onEnd(body: Buffer<ArrayBuffer> | undefined, wasCut: boolean): Promise<void>;
}

/** The same response, of which a copy is kept. It is read to its end also when its client leaves, as long as it is kept. */
export function copyResponse(response: Response, { copy, onEnd }: CopyOptions): Response {
  let hasLeft = false;
  const client = new ByteStream({
    cancel: () => {
      hasLeft = true;
    },
  });
  const read = async (): Promise<void> => {
    let wasCut = false;
    for await (const chunk of response.body ?? []) {
      copy?.add(chunk);
      wasCut = hasLeft && copy?.isWhole !== true;
      if (wasCut) break;
      await client.write(chunk);
    }
    await onEnd(copy?.bytes, wasCut);
    client.end();
  };
  const fail = async (error: unknown): Promise<void> => {
    await onEnd(undefined, false);
    client.abort(error);
  };
  void read()
    .catch(fail)
    .finally(() => copy?.drop());
  return new Response(client.body, { status: response.status, headers: response.headers });
}
