import { Readable } from "node:stream";
import { createBrotliDecompress, createGunzip, createInflate } from "node:zlib";
import { entryOf, UpstreamFault } from "../../contract/index.ts";
import type { Answer, Bytes, Taker } from "./ask.ts";
import { readPiece } from "./read-piece.ts";

const decoders: Record<string, () => NodeJS.ReadWriteStream & { destroy(error?: Error): void }> = {
  gzip: createGunzip,
  "x-gzip": createGunzip,
  deflate: createInflate,
  br: createBrotliDecompress,
};

/**
 * An answer that a provider compressed although it was asked not to. It is unpacked as it is read and not ahead, so that
 * the reader's bound on a body holds for what is unpacked too.
 *
 * @throws {UpstreamFault} `broken` when the encoding is another than gzip, deflate or br.
 */
export function decoded(answer: Answer, encoding: string): Answer {
  const name = encoding.toLowerCase();
  if (name === "identity") return answer;
  const open = entryOf(decoders, name);
  if (open === undefined) {
    throw new UpstreamFault("broken", "The provider compressed its answer in a way that was not asked for");
  }
  return new DecodedAnswer(answer, open());
}

class DecodedAnswer implements Answer {
  readonly #answer: Answer;
  readonly #decoder: NodeJS.ReadWriteStream & { destroy(error?: Error): void };
  readonly #pieces: AsyncIterator<string | Buffer>;

  constructor(answer: Answer, decoder: NodeJS.ReadWriteStream & { destroy(error?: Error): void }) {
    this.#answer = answer;
    this.#decoder = decoder;
    const source = Readable.from(piecesOf(answer), { objectMode: false });
    source.on("error", (error) => decoder.destroy(error));
    this.#pieces = source.pipe(decoder)[Symbol.asyncIterator]();
  }

  get status(): number {
    return this.#answer.status;
  }

  get contentType(): string | undefined {
    return this.#answer.contentType;
  }

  headers(): Headers {
    return this.#answer.headers();
  }

  whole(): undefined {
    return undefined;
  }

  take(taker: Taker): undefined {
    this.#pieces.next().then(
      ({ done, value }) => taker.onPiece(done === true ? undefined : (value as Bytes)),
      (error) => {
        this.cancel();
        taker.onFailure(unpackingFault(error));
      },
    );
  }

  cancel(): void {
    this.#answer.cancel();
    this.#decoder.destroy();
  }
}

async function* piecesOf(answer: Answer): AsyncGenerator<Bytes> {
  for (let bytes = await readPiece(answer); bytes !== undefined; bytes = await readPiece(answer)) yield bytes;
}

/** A call that was cut has a reason of its own, which is no fault of the packing. */
function unpackingFault(cause: unknown): unknown {
  const isPacking = cause instanceof Error && "code" in cause && String(cause.code).match(/^(Z_|ERR_|BR)/) !== null;
  if (!isPacking) return cause;
  return new UpstreamFault("broken", "The provider's compressed answer could not be unpacked", { cause });
}
