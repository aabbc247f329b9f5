import { type StoredTurn, type TurnStore, turnLifetimeMs } from "../../contract/index.ts";

/** Bytes that a session and each of its turns take beside the turns' own: entry of a map, list, object, array and its buffer. */
const [sessionBytes, turnBytes] = [160, 320];
/** A character of a name takes two bytes. */
const charBytes = 2;

interface Session {
  readonly turns: readonly StoredTurn[];
  readonly bytes: number;
  readonly atMs: number;
}

/** Keeps the turns of one process in memory. When there is no more room, the sessions that were silent longest go. */
export class MemoryTurns implements TurnStore {
  readonly #bytesMax: number;
  readonly #now: () => number;
  /** Sorted by the time of their last turn. */
  readonly #sessions = new Map<string, Session>();
  #bytes = 0;

  /** @param now A clock that never jumps, in milliseconds. */
  constructor(bytesMax: number, now: () => number) {
    this.#bytesMax = bytesMax;
    this.#now = now;
  }

  /** Bytes that are counted. */
  get bytes(): number {
    return this.#bytes;
  }

  get size(): number {
    return this.#sessions.size;
  }

  read(name: string): readonly StoredTurn[] {
    const session = this.#sessions.get(name);
    return session === undefined || this.#isOver(session) ? [] : session.turns;
  }

  write(name: string, turn: StoredTurn, dropped: readonly string[]): void {
    const turns = [...this.read(name).filter(({ id }) => id !== turn.id && !dropped.includes(id)), turn];
    const turnsBytes = turns.reduce((sum, { bytes }) => sum + turnBytes + bytes.byteLength, 0);
    this.#forget(name);
    const session = { turns, bytes: sessionBytes + charBytes * name.length + turnsBytes, atMs: this.#now() };
    this.#sessions.set(name, session);
    this.#bytes += session.bytes;
    for (const [oldest, { bytes, atMs }] of this.#sessions) {
      const isFull = this.#bytes > this.#bytesMax;
      if (!isFull && !this.#isOver({ atMs })) break;
      this.#sessions.delete(oldest);
      this.#bytes -= bytes;
    }
  }

  #isOver({ atMs }: Pick<Session, "atMs">): boolean {
    return this.#now() - atMs > turnLifetimeMs;
  }

  #forget(name: string): void {
    const session = this.#sessions.get(name);
    if (session === undefined) return;
    this.#sessions.delete(name);
    this.#bytes -= session.bytes;
  }
}
