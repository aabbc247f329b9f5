/**
 * Fair turns of the event loop for answers of providers. A stream with short pieces is processed as they arrive. Data
 * that arrives faster, or is buffered because its client was slow, is processed in slices, and the slices of all
 * accounts take turns. One account with hundreds of such streams then costs others no more than one with a single
 * stream.
 */
import { nextTurn } from "../../lib/next-turn.ts";
import type { Bytes } from "./http-client.ts";

/**
 * A piece up to this size is processed at once. A larger one is processed in slices of this size, which take about a
 * millisecond each.
 */
export const sliceBytes = 32 * 1024;
/** Slices that are worked on in one turn of the event loop. Requests and answers of others come in between. */
const slicesPerTurn = 4;
/** A long piece counts as this many in memory: it is here, and becomes text. */
export const socketCopies = 2;
/** As much again where the platform's `fetch` has read ahead of it: up to 3 MB of a stream that its client does not read. */
export const fetchCopies = 4;

/** Hands out turns of the event loop, by accounts in rotation. */
export class FairTurns {
  /** Waiting streams by account. The account that had the last turn is at the end. */
  readonly #waiting = new Map<string, (() => void)[]>();
  #isRunning = false;

  /** Resolves when this account may work for about a millisecond. */
  take(owner: string): Promise<void> {
    return new Promise((resolve) => {
      const waiting = this.#waiting.get(owner);
      if (waiting === undefined) this.#waiting.set(owner, [resolve]);
      else waiting.push(resolve);
      if (!this.#isRunning) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#isRunning = true;
    while (this.#waiting.size > 0) {
      await nextTurn();
      for (let count = 0; count < slicesPerTurn; count++) this.#grant();
    }
    this.#isRunning = false;
  }

  #grant(): void {
    const [first] = this.#waiting;
    if (first === undefined) return;
    const [owner, waiting] = first;
    this.#waiting.delete(owner);
    waiting.shift()?.();
    if (waiting.length > 0) this.#waiting.set(owner, waiting);
  }
}

/** The slices of the long pieces of one stream. */
export class Slices {
  readonly #take: () => Promise<void>;
  readonly #reserve: (bytes: number) => void;
  readonly #copies: number;
  #piece: Bytes | undefined;
  #at = 0;

  /**
   * @param reserve Counts the memory of a piece until its last slice is worked on; fewer bytes than 0 are freed. It may throw.
   * @param copies How many times its bytes a piece counts.
   */
  constructor(take: () => Promise<void>, reserve: (bytes: number) => void, copies: number) {
    this.#take = take;
    this.#reserve = reserve;
    this.#copies = copies;
  }

  /** Whether {@link next} has another slice. */
  get hasMore(): boolean {
    return this.#piece !== undefined;
  }

  /**
   * Begins a piece that is longer than {@link sliceBytes}.
   *
   * @returns Its first slice; `undefined` if the stream ended while it waited.
   */
  begin(piece: Bytes): Promise<Bytes | undefined> {
    this.#reserve(this.#copies * piece.byteLength);
    this.#piece = piece;
    this.#at = 0;
    return this.next();
  }

  /** Waits for the next turn and returns the next slice; `undefined` if the stream ended while it waited. */
  async next(): Promise<Bytes | undefined> {
    await this.#take();
    const slice = this.#piece?.subarray(this.#at, this.#at + sliceBytes);
    this.#at += sliceBytes;
    if (this.#piece !== undefined && this.#at >= this.#piece.byteLength) this.drop();
    return slice;
  }

  /** No more slices are needed. Repeating it does nothing. */
  drop(): void {
    if (this.#piece !== undefined) this.#reserve(-this.#copies * this.#piece.byteLength);
    this.#piece = undefined;
  }
}
