/**
 * Reserves the cost of a call before a provider is called. {@link admit} holds the most that the request can use. For a
 * stream whose output can be observed it holds a first part instead. If less than the most is left, it lowers the
 * request to what is left. The hold of a stream then grows with its output: {@link GrowingHold}.
 */
import {
  type AdmissionRequest,
  type Capability,
  type Extension,
  GatewayError,
  type Hold,
  type Ledger,
  type Meters,
  sumPromptTokens,
  sumTokens,
} from "../contract/index.ts";
import { isRecord } from "../lib/json.ts";
import { type ChatChunk, type ChunkChoice, toAnswerText } from "../provider/index.ts";
import type { ModelRun, OutputHold } from "./call.ts";
import { textMembers, visitBeside } from "./normalize/output-text.ts";
import { tokensMax } from "./normalize/prompt-bounds.ts";
import { boundUnits, toQuotaTokens } from "./normalize/usage-meter.ts";
import { costMaxOfRun } from "./service-tier.ts";
import type { CapabilityHandler, Growth, Kernel } from "./types.ts";

/** The errors of a caller without the funds for a call. */
export const fundErrors: ReadonlySet<string> = new Set(["insufficient_balance", "budget_exceeded", "quota_exceeded"]);

/**
 * Admits a run. A prompt that its provider can count far lower than the gateway can bound it is counted where its bound is
 * more than the caller can pay; that is a request of its own to the caller's limits.
 *
 * @throws {GatewayError} When a limit is reached or the caller cannot pay for it.
 */
export async function admit<C extends Capability>(
  kernel: Kernel,
  run: ModelRun<C>,
  handler: CapabilityHandler<C>,
): Promise<void> {
  const { ledger } = kernel;
  run.bounds = handler.upperBound(run);
  let plan = planHold(run, handler);
  let hold: Hold;
  try {
    hold = await ledger.admit(toAdmission(run, handler, plan));
  } catch (refusal) {
    const isOfFunds = refusal instanceof GatewayError && fundErrors.has(refusal.code);
    const countedTokensMax = isOfFunds ? await handler.countPrompt?.(kernel, run) : undefined;
    if (countedTokensMax === undefined) throw refusal;
    run.bounds = handler.upperBound(run, countedTokensMax);
    plan = planHold(run, handler);
    hold = await ledger.admit(toAdmission(run, handler, plan));
  }
  const { most, growth } = plan;
  run.hold = hold;
  const limit: HoldAmount =
    growth === undefined
      ? { nanodollars: hold.heldNanodollars, tokens: hold.heldTokens }
      : { nanodollars: hold.availableNanodollars, tokens: hold.availableTokens };
  if (!covers(limit, most)) lowerTo(limit, run, handler);
  if (growth !== undefined) run.growingHold = createGrowingHold(kernel, run, { hold, growth });
}

/** The hold of a run, by its bounds. */
interface HoldPlan {
  /** The amount for the most that it can use. */
  readonly most: HoldAmount;
  /** Present for a stream whose hold follows its output: then `first` is also what is held at the beginning. */
  readonly growth: Growth | undefined;
  /** The part that is claimed of the tokens per minute at the beginning. */
  readonly first: Meters;
  /** The amount that is held at the beginning, and the least that has to be. */
  readonly amount: HoldAmount;
  readonly least: HoldAmount;
}

function planHold<C extends Capability>(run: ModelRun<C>, handler: CapabilityHandler<C>): HoldPlan {
  const { upper } = run.bounds;
  const most = toHold(run, upper);
  // The limits of a response that steers another are that one's: nothing can be lowered.
  if (run.call.request.steering !== undefined) {
    return { most, growth: undefined, first: upper, amount: most, least: most };
  }
  const least = handler.lowerBound === undefined ? most : toHold(run, handler.lowerBound(run));
  const growth = most.nanodollars === Number.MAX_SAFE_INTEGER ? undefined : handler.growth?.(run);
  if (growth !== undefined) {
    const first = growth.boundOf(Math.min(growth.stepTokens, growth.outputTokensMax()));
    if (growth.isHidden) return { most, growth: undefined, first, amount: most, least };
    const amount = toHold(run, first);
    // Where all of it has to be held from the beginning, nothing is left to grow.
    if (covers(amount, least)) return { most, growth, first, amount, least };
  }
  return { most, growth: undefined, first: upper, amount: most, least };
}

function toAdmission<C extends Capability>(
  run: ModelRun<C>,
  handler: CapabilityHandler<C>,
  { first, amount, least }: HoldPlan,
): AdmissionRequest {
  const { price } = run;
  const { model } = run.modelEntry;
  const { caller, capability, session, tag, endUser, agent, parentAgent, openedAt } = run.call.request;
  return {
    callId: run.ledgerId,
    caller,
    model: model.id,
    modelName: run.publicName,
    capability,
    premium: model.premium,
    holdNanodollars: amount.nanodollars,
    minNanodollars: least.nanodollars,
    holdTokens: amount.tokens,
    minTokens: least.tokens,
    limitTokens: limitTokensOf(run, first) ?? handler.promptTokens?.(run) ?? 0,
    priceVersion: price?.version,
    markupBasisPoints: price?.markupBasisPoints,
    session,
    tag,
    endUser,
    agent,
    parentAgent,
    openedAt,
  };
}

const covers = (limit: HoldAmount, { nanodollars, tokens }: HoldAmount) =>
  nanodollars <= limit.nanodollars && tokens <= limit.tokens;

function lowerTo<C extends Capability>(limit: HoldAmount, run: ModelRun<C>, handler: CapabilityHandler<C>): void {
  const lowered = handler.lower?.(run, (meters) => covers(limit, toHold(run, meters)));
  if (lowered === undefined) return;
  run.lowered = lowered.fields;
  run.request = lowered.request;
  run.bounds = lowered.bounds;
}

function createGrowingHold(
  kernel: Kernel,
  run: ModelRun,
  { hold, growth }: { hold: Hold; growth: Growth },
): GrowingHold {
  return new GrowingHold({
    ledger: kernel.ledger,
    hold,
    amountOf: (outputTokens, promptTokens) => toHold(run, withPrompt(growth.boundOf(outputTokens), promptTokens)),
    limitTokensOf: (outputTokens) => limitTokensOf(run, growth.boundOf(outputTokens)) ?? 0,
    promptTokensMax: sumPromptTokens(run.bounds.upper),
    stepTokens: growth.stepTokens,
    outputTokensMax: growth.outputTokensMax(),
  });
}

/** A bound with the prompt that its provider reported, where that is more: a provider may add to it. */
function withPrompt(bound: Meters, promptTokens: number): Meters {
  return promptTokens > sumPromptTokens(bound) ? { ...bound, inputToken: promptTokens } : bound;
}

/**
 * Tokens counted against the minute until the usage is known; a prompt that may be read again after a search counts as
 * it was sent.
 */
function limitTokensOf({ bounds }: ModelRun, meters: Meters): number | undefined {
  const { sentTokensMax = Number.POSITIVE_INFINITY } = bounds;
  const { inputToken = 0 } = meters;
  return sumTokens(inputToken > sentTokensMax ? { ...meters, inputToken: sentTokensMax } : meters);
}

/**
 * Converts usage to an amount of the wallet or of the free quota. A cost too large to compute is more than any wallet
 * has.
 */
function toHold(run: ModelRun, bound: Meters): HoldAmount {
  const { model } = run.modelEntry;
  const { requestsHeld } = run;
  const units = boundUnits(model, requestsHeld);
  const meters = { ...bound, ...units, ...(model.price?.call !== undefined && { call: requestsHeld }) };
  if (!model.premium) return { nanodollars: 0, tokens: toQuotaTokens(meters, model) };
  return { nanodollars: costMaxOfRun(run, meters) ?? Number.MAX_SAFE_INTEGER, tokens: 0 };
}

/** Amounts of the wallet and of the free quota. */
interface HoldAmount {
  nanodollars: number;
  tokens: number;
}

/** Options of {@link GrowingHold}. */
export interface GrowingHoldOptions {
  ledger: Pick<Ledger, "extend">;
  /** Kept up to date. */
  hold: Hold;
  /**
   * Upper bound for this many tokens of output plus the prompt; `promptTokens` counts where it is above the prompt's
   * bound.
   */
  amountOf: (outputTokens: number, promptTokens: number) => HoldAmount;
  /** Tokens of the prompt and so much output, as counted against the minute. */
  limitTokensOf: (outputTokens: number) => number;
  /** The bound of the prompt, with all that the call may put into it. */
  promptTokensMax: number;
  /** Tokens of output that each extension adds. */
  stepTokens: number;
  /** The most tokens of output that the provider may send. */
  outputTokensMax: number;
}

/**
 * Keeps the hold of a stream ahead of its output, which the gateway can observe in full. When half a step is left, the
 * hold is extended while the stream continues; the stream waits only if the hold does not cover the next chunk. Each
 * byte of output counts as one token, the most it can be. If the provider reports more output than has arrived, the
 * report counts.
 */
export class GrowingHold implements OutputHold {
  readonly #options: GrowingHoldOptions;
  /** The output that has come, in tokens at most. */
  #used = 0;
  /** The prompt that the provider reported, where that is more than its bound. */
  #promptTokens = 0;
  /** The output that is held for. */
  #covered: number;
  /** The hold is extended once the output exceeds this many tokens. */
  #extendAbove: number;
  #extending: Promise<void> | undefined;

  constructor(options: GrowingHoldOptions) {
    this.#options = options;
    this.#covered = this.#coveredBy(options.hold, options.outputTokensMax);
    this.#extendAbove = this.#threshold();
  }

  /** The call has ended: nothing is held any more. */
  stop(): void {
    this.#extendAbove = Number.POSITIVE_INFINITY;
  }

  /**
   * Counts output before it is sent.
   *
   * @returns Undefined in most cases; otherwise what the stream has to wait for, which rejects with the error that ends it.
   */
  spend(bytes: number): Promise<void> | undefined {
    this.#used = Math.min(this.#used + bytes, this.#options.outputTokensMax);
    if (this.#used <= this.#extendAbove) return undefined;
    if (this.#used > this.#covered) return this.#cover();
    this.#extending ??= this.#extend(this.#covered + 1)
      // Tried again when it is needed; what could not be written, with the next chunk.
      .catch((error: unknown) => {
        if (!isUnavailable(error)) this.#extendAbove = this.#covered;
      })
      .finally(() => {
        this.#extending = undefined;
      });
    return undefined;
  }

  /** Takes a report of the provider. Where it is more than was held for, the hold is extended before more is sent. */
  onReport(promptTokens: number, outputTokens: number): void {
    const { hold, outputTokensMax, promptTokensMax } = this.#options;
    this.#used = Math.max(this.#used, Math.min(outputTokens, outputTokensMax));
    if (promptTokens <= Math.max(this.#promptTokens, promptTokensMax)) return;
    this.#promptTokens = promptTokens;
    this.#covered = this.#coveredBy(hold, this.#covered);
    this.#extendAbove = this.#threshold();
  }

  /**
   * Extends the hold to the most that the answer can be. Called before a whole answer is requested, which cannot be
   * stopped halfway.
   *
   * @throws {GatewayError} When that much is not left.
   */
  async coverAll(): Promise<void> {
    const { outputTokensMax } = this.#options;
    await this.#extending;
    if (this.#covered < outputTokensMax) await this.#extend(outputTokensMax, outputTokensMax);
  }

  async #cover(): Promise<void> {
    await this.#extending;
    if (this.#used > this.#covered) await this.#extend(this.#used);
  }

  /** @throws {GatewayError} When not even `leastTokens` of output can be held for. */
  async #extend(leastTokens: number, mostTokens = this.#used + this.#options.stepTokens): Promise<void> {
    const { ledger, hold, amountOf, limitTokensOf, outputTokensMax } = this.#options;
    const most = Math.min(outputTokensMax, mostTokens);
    const [amount, least] = [amountOf(most, this.#promptTokens), amountOf(leastTokens, this.#promptTokens)];
    const extension: Extension = {
      callId: hold.callId,
      holdNanodollars: amount.nanodollars,
      minNanodollars: least.nanodollars,
      holdTokens: amount.tokens,
      minTokens: least.tokens,
      limitTokens: limitTokensOf(most),
    };
    const { heldNanodollars, heldTokens } = await ledger.extend(extension);
    hold.heldNanodollars = heldNanodollars;
    hold.heldTokens = heldTokens;
    this.#covered = this.#coveredBy(hold, most);
    this.#extendAbove = this.#threshold();
  }

  #threshold(): number {
    const { stepTokens, outputTokensMax } = this.#options;
    return this.#covered >= outputTokensMax ? Number.POSITIVE_INFINITY : this.#covered - stepTokens / 2;
  }

  #coveredBy({ heldNanodollars, heldTokens }: Pick<Hold, "heldNanodollars" | "heldTokens">, most: number): number {
    return largest(most, (outputTokens) => {
      const { nanodollars, tokens } = this.#options.amountOf(outputTokens, this.#promptTokens);
      return nanodollars <= heldNanodollars && tokens <= heldTokens;
    });
  }
}

function isUnavailable(error: unknown): boolean {
  return error instanceof GatewayError && error.code === "unavailable";
}

/** The largest whole number up to `most` that fits; 0 if no other does. */
export function largest(most: number, fits: (number: number) => boolean): number {
  let [low, high] = [0, most];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (fits(middle)) low = middle;
    else high = middle - 1;
  }
  return low;
}

/**
 * An upper bound of the tokens of a chunk: the bytes of all text in its choices, in whatever field, and of the finish
 * reasons, which represent tokens that are not shown.
 */
export function chunkTokensMax(chunk: ChatChunk): number {
  const choices: unknown = chunk?.choices;
  let tokens = 0;
  if (!Array.isArray(choices)) return tokens;
  const take = (text: string) => {
    tokens += tokensMax(text);
  };
  for (const choice of choices as (ChunkChoice | null)[]) {
    if (!choice) continue;
    tokens += bytesOf(choice.finish_reason);
    visitBeside(choice, take);
    const delta: unknown = choice.delta;
    if (!isRecord(delta)) continue;
    for (const name in delta) if (name !== "role") tokens += bytesOfMember(name, delta[name]);
  }
  return tokens;
}

/** Nothing of it is checked yet but its nesting and its number of values, which its reader bounded. */
function bytesOf(value: unknown): number {
  if (typeof value === "string") return tokensMax(value);
  if (typeof value !== "object" || value === null) return 0;
  let bytes = 0;
  // The runtime is slow to enumerate the members of a list as an object's.
  if (Array.isArray(value)) {
    for (const member of value) bytes += bytesOf(member);
    return bytes;
  }
  for (const name in value) bytes += bytesOfMember(name, value[name as keyof typeof value]);
  return bytes;
}

function bytesOfMember(name: string, value: unknown): number {
  return bytesOf(textMembers.has(name) ? toAnswerText(value) : value);
}
