import { LRUCache } from "lru-cache";
import { type StoredTurn, type TurnStore, turnLifetimeMs } from "../../contract/index.ts";

/** Overhead of a session and of each of its turns in bytes: entry of a map, list, object, array and its buffer. */
const [sessionBytes, turnBytes] = [160, 320];
/** A character of a name takes two bytes. */
const charBytes = 2;

interface Session {
  readonly turns: readonly StoredTurn[];
  readonly atMs: number;
}

/** Keeps the turns of one process in memory. When there is no more room, the sessions that were silent longest go. */
export class MemoryTurns implements TurnStore {
  readonly #now: () => number;
  readonly #sessions: LRUCache<string, Session>;

  /** @param now A clock that never jumps, in milliseconds. */
  constructor(bytesMax: number, now: () => number) {
    this.#now = now;
    this.#sessions = new LRUCache({
      maxSize: bytesMax,
      sizeCalculation: ({ turns }, name) =>
        turns.reduce((sum, { bytes }) => sum + turnBytes + bytes.byteLength, sessionBytes + charBytes * name.length),
    });
  }

  /** Bytes that are counted. */
  get bytes(): number {
    return this.#sessions.calculatedSize;
  }

  get size(): number {
    return this.#sessions.size;
  }

  read(name: string): readonly StoredTurn[] {
    const session = this.#sessions.peek(name);
    return session === undefined || this.#now() - session.atMs > turnLifetimeMs ? [] : session.turns;
  }

  write(name: string, turn: StoredTurn, dropped: readonly string[]): void {
    const turns = [...this.read(name).filter(({ id }) => id !== turn.id && !dropped.includes(id)), turn];
    this.#sessions.set(name, { turns, atMs: this.#now() });
  }
}
