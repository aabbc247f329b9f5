import { GatewayError } from "../../contract/index.ts";
import type { Blobs, StoredBlob } from "../../db/index.ts";
import { type MemoryAccountant, type MemoryReservation, sendBytes } from "./call-memory.ts";

/** Memory of a connection that is sent a file: a piece here, and one at the socket. */
const connectionBytes = 128 * 1024;

/** A file in memory while somebody is sent it. */
interface OpenFile {
  readonly file: Promise<StoredBlob | undefined>;
  senders: number;
  room: MemoryReservation | undefined;
}

/** Reads each file once for all who are sent it at the same time, and counts it and their connections. */
export class SharedFiles {
  readonly #blobs: Pick<Blobs, "get" | "size">;
  readonly #memory: MemoryAccountant;
  readonly #open = new Map<string, OpenFile>();

  constructor(blobs: Pick<Blobs, "get" | "size">, memory: MemoryAccountant) {
    this.#blobs = blobs;
    this.#memory = memory;
  }

  /**
   * @param owner On whose behalf memory is taken.
   * @returns The body of a response, counted until its client has taken it; undefined when there is no such file.
   * @throws {GatewayError} `unavailable` or `rate_limit_exceeded`
   */
  async send(id: string, owner: string, request: Pick<Request, "signal">) {
    let open = this.#open.get(id);
    if (open === undefined) {
      const reading: OpenFile = { file: Promise.resolve(undefined), senders: 0, room: undefined };
      open = Object.assign(reading, { file: this.#read(id, owner, reading) });
      this.#open.set(id, open);
    }
    open.senders++;
    const end = this.#endOf(id, open);
    try {
      const file = await open.file;
      if (file === undefined) {
        end();
        return undefined;
      }
      const room = this.#memory.reserve(owner, connectionBytes, { countedMin: 0 });
      const body = sendBytes(file.bytes, request, () => {
        room.release();
        end();
      });
      return { mediaType: file.mediaType, body };
    } catch (error) {
      end();
      throw error;
    }
  }

  async #read(id: string, owner: string, open: OpenFile): Promise<StoredBlob | undefined> {
    const bytes = await ask(this.#blobs.size(id));
    if (bytes === undefined) return undefined;
    open.room = this.#memory.reserve(owner, bytes, { countedMin: 0 });
    return await ask(this.#blobs.get(id));
  }

  #endOf(id: string, open: OpenFile): () => void {
    let isSending = true;
    return () => {
      if (isSending) open.senders--;
      isSending = false;
      if (open.senders > 0 || this.#open.get(id) !== open) return;
      this.#open.delete(id);
      open.room?.release();
    };
  }
}

async function ask<Answer>(answer: Promise<Answer>): Promise<Answer> {
  try {
    return await answer;
  } catch (cause) {
    throw new GatewayError("unavailable", "The file could not be read; try again", { retryAfterMs: 1000, cause });
  }
}
