import { Echo } from "./echo.ts";

/** When a process counts as overloaded. */
export interface StrainBounds {
  /** How late the event loop may come to its work, in milliseconds; 0: that is not looked at. */
  readonly lagMsMax: number;
}

/** How often lateness is looked at. */
const strainTickMs = 20;
/** Over how long lateness is summed up, the older the less. */
const memoryMs = 1000;
/** Of lateness in that time it is overload: a pause for garbage or one dear call is none. It is over below the second. */
const [strainedMs, calmMs] = [400, 50];

/**
 * Whether there is more work than the processor can do, told by how late a timer fires and how long a byte takes that the
 * process sends to itself: everything that waits for the event loop waits as long as that. While it does, new calls are
 * better refused at once than made to wait with all others. Costs a comparison a call.
 */
export class Strain {
  readonly #lagMsMax: number;
  readonly #now: () => number;
  readonly #onChange: (isStrained: boolean) => void;
  #timer: ReturnType<typeof setInterval> | undefined;
  #echo: Echo | undefined;
  /** When the byte left that is under way; 0: none is. */
  #sentAt = 0;
  /** How long the last took that came back since the last look. */
  #echoMs = 0;
  #tickedAt = 0;
  /** Whether it was late when last looked at, and the sum of late. */
  #isLate = false;
  #lateSumMs = 0;
  #isStrained = false;

  constructor({ lagMsMax }: StrainBounds, now: () => number, onChange: (isStrained: boolean) => void) {
    this.#lagMsMax = lagMsMax;
    this.#now = now;
    this.#onChange = onChange;
  }

  /** Whether a call that comes now is better refused. */
  refuses(nowMs: number): boolean {
    return this.#isStrained && (this.#isLate || nowMs - this.#tickedAt > strainTickMs + this.#lagMsMax);
  }

  /** Looks on until {@link stop}; again does nothing. */
  start(): void {
    if (this.#timer !== undefined || this.#lagMsMax === 0) return;
    this.#tickedAt = this.#now();
    this.#timer = setInterval(() => this.tick(), strainTickMs);
    this.#timer.unref?.();
    this.#echo = new Echo(() => this.echoed());
  }

  stop(): void {
    if (this.#timer === undefined) return;
    clearInterval(this.#timer);
    this.#timer = undefined;
    this.#echo?.close();
    this.#echo = undefined;
    this.#sentAt = 0;
    this.#echoMs = 0;
    this.#isLate = false;
    this.#lateSumMs = 0;
    this.#set(false);
  }

  /** Called by the timer; tests with a clock of their own call it themselves. */
  tick(): void {
    const now = this.#now();
    const passedMs = now - this.#tickedAt;
    const waitedMs = Math.max(passedMs - strainTickMs, this.#echoMs);
    const underWayMs = this.#sentAt === 0 ? 0 : now - this.#sentAt - strainTickMs;
    this.#tickedAt = now;
    this.#echoMs = 0;
    if (this.#lagMsMax === 0) return;
    if (this.#sentAt === 0 && this.#echo?.send() === true) this.sent();
    this.#isLate = Math.max(waitedMs, underWayMs) > this.#lagMsMax;
    const lateMs = waitedMs > this.#lagMsMax ? waitedMs : 0;
    this.#lateSumMs = this.#lateSumMs * Math.exp(-passedMs / memoryMs) + lateMs;
    if (this.#lateSumMs >= strainedMs) this.#set(true);
    else if (this.#lateSumMs < calmMs) this.#set(false);
  }

  /** Notes that a byte has left. */
  sent(): void {
    this.#sentAt = this.#now();
  }

  /** Called when the byte is back. */
  echoed(): void {
    if (this.#sentAt === 0) return;
    this.#echoMs = this.#now() - this.#sentAt;
    this.#sentAt = 0;
  }

  #set(isStrained: boolean): void {
    if (isStrained === this.#isStrained) return;
    this.#isStrained = isStrained;
    this.#onChange(isStrained);
  }
}
