import { isAmount, type MeterName, type Meters, meterNames, type UsageSource } from "../../contract/index.ts";

/** What a call used, and how that is known. */
export interface Count {
  meters: Meters;
  source: UsageSource;
}

/**
 * Counts one call. A provider's report stands when the call came to its end; the last report replaces earlier ones.
 * Where nothing usable was reported, or the call broke off, what went in and came out is counted instead.
 */
export class UsageMeter {
  #reported: Meters | undefined;
  readonly #estimate: () => Promise<Meters>;
  /** Something reached the caller, or would have: from then on the call costs. */
  produced = false;
  /** Text came out: a report without output tokens does not count it. */
  wrote = false;
  /** The answer came to its end. */
  complete = false;
  #counted: Promise<Count> | undefined;

  /** `estimate` counts what went in and has come out so far; it is asked at the end, and only when needed. */
  constructor(estimate: () => Promise<Meters>) {
    this.#estimate = estimate;
  }

  report(meters: Meters): void {
    this.#reported = meters;
  }

  get reported(): Meters | undefined {
    return this.#reported;
  }

  /** The final count. Once the answer is complete it is made once, however often it is asked for. */
  count(): Promise<Count> {
    if (!this.complete) return this.#make();
    this.#counted ??= this.#make();
    return this.#counted;
  }

  async #make(): Promise<Count> {
    const reported = this.#reported;
    if (this.complete && reported !== undefined && this.#isWhole(reported)) {
      return { meters: reported, source: "reported" };
    }
    if (!this.produced) return { meters: {}, source: "none" };
    const estimated = await this.#estimate();
    return { meters: reported === undefined ? estimated : larger(reported, estimated), source: "estimated" };
  }

  #isWhole(reported: Meters): boolean {
    if (this.wrote && !reported.outputToken) return false;
    return !(this.produced && isZero(reported));
  }
}

function isZero(meters: Meters): boolean {
  return meterNames.every((name) => meters[name] === undefined || meters[name] === 0);
}

/** A report from the midst of a broken call may count the prompt well and the output not yet: the larger output stands. */
function larger(reported: Meters, estimated: Meters): Meters {
  if (isZero(reported)) return estimated;
  const meters: Meters = { ...estimated, ...reported };
  for (const name of ["outputToken", "image", "audioMs", "character"] as const satisfies readonly MeterName[]) {
    const [a, b] = [reported[name], estimated[name]];
    if (isAmount(a) && isAmount(b)) meters[name] = Math.max(a, b);
  }
  return meters;
}
