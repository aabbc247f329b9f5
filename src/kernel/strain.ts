/** When a process counts as overloaded. */
export interface StrainBounds {
  /** How late the event loop may come to its work, in milliseconds; 0: that is not looked at. */
  readonly lagMsMax: number;
}

/** How often lateness is looked at. */
const strainTickMs = 20;
/** Lateness must last so long: a pause for garbage or one dear call is none. */
const sustainedMs = 300;
/** How long after the last lateness new calls are still refused as soon as it comes again. */
const calmMs = 2000;

/**
 * Whether there is more work than the processor can do, told by how late a timer fires: everything that waits for the
 * event loop waits as long as that. While it does, new calls are better refused at once than made to wait with all
 * others. Costs a comparison a call.
 */
export class Strain {
  readonly #lagMsMax: number;
  readonly #now: () => number;
  readonly #onChange: (isStrained: boolean) => void;
  #timer: ReturnType<typeof setInterval> | undefined;
  #tickedAt = 0;
  /** Since when it has been late without a break; 0: it is not. */
  #lateSince = 0;
  #lateAt = 0;
  #isStrained = false;

  constructor({ lagMsMax }: StrainBounds, now: () => number, onChange: (isStrained: boolean) => void) {
    this.#lagMsMax = lagMsMax;
    this.#now = now;
    this.#onChange = onChange;
  }

  /** Whether a call that comes now is better refused. */
  refuses(nowMs: number): boolean {
    return this.#isStrained && (this.#lateSince !== 0 || nowMs - this.#tickedAt > strainTickMs + this.#lagMsMax);
  }

  /** Looks on until {@link stop}; again does nothing. */
  start(): void {
    if (this.#timer !== undefined || this.#lagMsMax === 0) return;
    this.#tickedAt = this.#now();
    this.#timer = setInterval(() => this.tick(), strainTickMs);
    this.#timer.unref?.();
  }

  stop(): void {
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#lateSince = 0;
    this.#set(false);
  }

  /** Called by the timer; tests with a clock of their own call it themselves. */
  tick(): void {
    const now = this.#now();
    const lateMs = now - this.#tickedAt - strainTickMs;
    this.#tickedAt = now;
    if (this.#lagMsMax === 0) return;
    if (lateMs > this.#lagMsMax) {
      if (this.#lateSince === 0) this.#lateSince = now;
      this.#lateAt = now;
      if (now - this.#lateSince >= sustainedMs) this.#set(true);
      return;
    }
    this.#lateSince = 0;
    if (now - this.#lateAt >= calmMs) this.#set(false);
  }

  #set(isStrained: boolean): void {
    if (isStrained === this.#isStrained) return;
    this.#isStrained = isStrained;
    this.#onChange(isStrained);
  }
}
