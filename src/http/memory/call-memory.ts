import type { CallMemoryBounds } from "../../kernel/index.ts";
import type { MemoryAccountant, MemoryReservation } from "./memory-accountant.ts";

/** A larger body takes long enough to be noticed by other requests, in bytes. */
export const largeBytesMin = 1024 * 1024;
/** The longest whole answer of a provider always has room when its account has nothing else: it is paid by then. */
const answerAloneMax = 256 * 1024 * 1024;

/** What a call has in memory: what came in for it until its response is there, and its answer until that was sent. */
export class CallMemory implements CallMemoryBounds {
  /** Its body, and what is fetched and read for it. */
  readonly request: MemoryReservation;
  readonly #accountant: MemoryAccountant;
  readonly #owner: string;
  #answer: MemoryReservation | undefined;
  #senders = 0;
  #isReleased = false;

  constructor(accountant: MemoryAccountant, owner: string) {
    this.#accountant = accountant;
    this.#owner = owner;
    this.request = accountant.reserve(owner);
  }

  get isLarge(): boolean {
    return this.request.bytes >= largeBytesMin;
  }

  reserve(bytes: number): void {
    this.request.grow(bytes);
  }

  reserveAnswer(bytes: number): void {
    const { answer } = this;
    if (bytes < 0) answer.shrink(-bytes);
    else answer.grow(bytes);
  }

  /** Of the answer; only while it is needed. */
  get answer(): MemoryReservation {
    this.#answer ??= this.#accountant.reserve(this.#owner, 0, { aloneMax: answerAloneMax });
    // Nobody would free what a provider adds to a call that is over.
    if (this.#isReleased && this.#senders === 0) this.#answer.release();
    return this.#answer;
  }

  /** Hands the memory of the answer over to who sends it and then releases it. */
  takeAnswer(): MemoryReservation {
    const { answer } = this;
    this.#answer = undefined;
    return answer;
  }

  /** Keeps the answer, which is written to a stream, beyond {@link release}. Returns what ends that, once or more often. */
  startSending(): () => void {
    this.#senders++;
    let isSending = true;
    return () => {
      if (isSending) this.#senders--;
      isSending = false;
      this.#releaseAnswer();
    };
  }

  /** The response is there. Repeating it does nothing. */
  release(): void {
    this.#isReleased = true;
    this.request.release();
    this.#releaseAnswer();
  }

  #releaseAnswer(): void {
    if (!this.#isReleased || this.#senders > 0) return;
    this.#answer?.release();
  }
}
