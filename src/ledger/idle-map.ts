/** How many old entries are looked at to make room for a new one. */
const probesMax = 32;

/** A value that is kept in memory of many accounts or keys. */
export interface Forgettable {
  /** Whether forgetting it loses nothing. */
  isIdle(now: number): boolean;
}

/** A map that forgets idle entries when others need the room. Busy entries are kept, even beyond the bound. */
export class IdleMap<Value extends Forgettable> {
  readonly #entriesMax: number;
  readonly #make: () => Value;
  readonly #values = new Map<string, Value>();

  constructor(entriesMax: number, make: () => Value) {
    this.#entriesMax = entriesMax;
    this.#make = make;
  }

  get(id: string): Value | undefined {
    return this.#values.get(id);
  }

  getOrMake(id: string, now: number): Value {
    const value = this.#values.get(id);
    if (value !== undefined) return value;
    const made = this.#make();
    this.#makeRoom(now);
    this.#values.set(id, made);
    return made;
  }

  isIdle(now: number): boolean {
    for (const value of this.#values.values()) if (!value.isIdle(now)) return false;
    return true;
  }

  /** Busy entries go to the end of the queue. */
  #makeRoom(now: number): void {
    let probes = this.#values.size < this.#entriesMax ? 0 : probesMax;
    for (const [id, value] of this.#values) {
      if (probes-- <= 0) return;
      this.#values.delete(id);
      if (value.isIdle(now)) return;
      this.#values.set(id, value);
    }
  }
}
