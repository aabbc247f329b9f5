import { type Hold, type Meters, UpstreamFault, type UsageSource } from "../contract/index.ts";

/** Why a call was cut off by the gateway itself. */
export type CutReason = "left" | "timeout" | "draining";

/** What is known of one call so far: written along its way, read for headers, log and books. */
export class Progress {
  readonly id: string;
  readonly openedAt: number;
  readonly #controller = new AbortController();
  #onCut: () => void = () => undefined;
  hold: Hold | undefined = undefined;
  model: string | undefined = undefined;
  /** The plugin that answered. */
  route: string | undefined = undefined;
  attempts = 0;
  status = 200;
  errorCode: string | undefined = undefined;
  cutReason: CutReason | undefined = undefined;
  firstByteMs: number | undefined = undefined;
  meters: Meters = {};
  usageSource: UsageSource = "none";
  costNanodollars: number | undefined = undefined;
  readonly notes: string[] = [];

  constructor(id: string, openedAt: number) {
    this.id = id;
    this.openedAt = openedAt;
  }

  /** Aborted when the call is cut; every request to a provider carries it. */
  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Ends the call from outside: whatever it waits for is aborted, and it settles. Only the first reason counts. */
  cut(reason: CutReason): void {
    if (this.cutReason !== undefined) return;
    this.cutReason = reason;
    this.#controller.abort();
    this.#onCut();
  }

  /**
   * The outcome of work, or a fault once the call is cut, for work that may not heed the signal. By hand, because
   * `Promise.race` with a promise of the cut costs a call five microseconds.
   */
  untilCut<Outcome>(work: Promise<Outcome>): Promise<Outcome> {
    return new Promise((resolve, reject) => {
      work.then(resolve, reject);
      this.#onCut = () => reject(new UpstreamFault("broken", "The call was cut off"));
      if (this.cutReason !== undefined) this.#onCut();
    });
  }

  /** Closes what a call that ended may have left open at its providers. */
  abandon(): void {
    this.#controller.abort();
  }

  /** Keeps a sentence for the log, at most 20 of at most 500 characters. */
  note(sentence: string): void {
    if (this.notes.length < 20) this.notes.push(sentence.slice(0, 500));
  }
}
