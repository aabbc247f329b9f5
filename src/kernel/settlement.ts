/**
 * How a run ends in the ledger: what it used is counted, by what the provider reported or by an estimate, and charged once.
 * What was served is owed, whatever became of the answer; what a provider reports beyond what the call can have used is not
 * believed.
 */
import {
  answerMeters,
  type CallDetail,
  type Capability,
  type CompiledPrice,
  compilePrice,
  costNanodollars,
  type FailedAttempt,
  GatewayError,
  getMeter,
  getOwn,
  listUnpriced,
  type MeterName,
  type Meters,
  nanodollarsPerUsd,
  promptMeters,
  reportedUnits,
  type Settlement,
  sumOutputTokens,
  sumPromptTokens,
  UpstreamError,
  unitMeters,
  withMarkup,
} from "../contract/index.ts";
import { withoutWords } from "../lib/describe-error.ts";
import { contextTokensDefault } from "../provider/index.ts";
import { type PromptWatch, readCacheEffect } from "./cache-effect.ts";
import type { Attempt, ModelRun } from "./call.ts";
import { getContextTokensMax } from "./normalize/prompt-bounds.ts";
import {
  addMeters,
  boundUnits,
  type Count,
  readUnits,
  type ServedUsage,
  toQuotaTokens,
  UsageMeter,
} from "./normalize/usage-meter.ts";
import { priceOfRun, tierOfPrice } from "./service-tier.ts";
import type { CapabilityHandler, Kernel } from "./types.ts";

const messageCharactersMax = 500;
/** The most tokens of an image, or of speech, of a model that does not say. */
const mediaTokensDefault = 32_768;
/** A limit of the output is not kept to the token: the mark of its end may count, or what was begun. */
const limitMargin = { share: 1.1, tokens: 64 };

/** Creates the usage meter of a call: it counts the answer, and whatever was served if the answer failed. */
export function createUsageMeter<C extends Capability>(
  kernel: Kernel,
  run: ModelRun<C>,
  handler: CapabilityHandler<C>,
): UsageMeter {
  const { model } = run.modelEntry;
  const estimate = async () => {
    const { open } = sumServed(run, handler);
    return addMeters(await handler.estimate(run, kernel), boundUnits(model, Math.max(1, open)));
  };
  return new UsageMeter(estimate, {
    hasSeveral: () => run.sent.size > 1,
    served: () => sumServed(run, handler),
    onReport: (meters) => run.growingHold?.onReport(boundPromptOf(run, meters), sumOutputTokens(meters) ?? 0),
    unitsOf: (usages) => readUnits(usages, model),
    charge: (count, isReported) => toCharge(run, count, isReported),
  });
}

/** The tokens of a prompt by a report, at most those that a call can have. */
function boundPromptOf(run: ModelRun, meters: Meters): number {
  return Math.min(sumPromptTokens(meters), promptTokensMaxOf(run, Math.max(1, run.sent.size)));
}

/** The most tokens that so many requests can have in their prompts: the context of the model each, or what is held. */
function promptTokensMaxOf({ modelEntry, bounds }: ModelRun, requests: number): number {
  const contextTokens = getContextTokensMax(modelEntry.model) ?? contextTokensDefault;
  return Math.max(contextTokens * requests, sumPromptTokens(bounds.upper));
}

/** Makes a charge of a count: within its bounds, with what its report leaves out, and with the price of each request. */
function toCharge(run: ModelRun, count: Count, isReported: boolean): Count {
  let { meters, source } = count;
  if (source === "none") return count;
  const { model } = run.modelEntry;
  const requests = Math.max(1, run.sent.size);
  const bounded = isReported ? boundReport(run, meters, requests) : undefined;
  if (bounded !== undefined) {
    run.usageMeter.implausible = meters;
    [meters, source] = [bounded, "estimated"];
  }
  const unitsMax = boundUnits(model, requests);
  for (const { name } of reportedUnits) {
    if (unitsMax[name] === undefined || meters[name] !== undefined) continue;
    [meters, source] = [{ ...meters, [name]: unitsMax[name] }, "estimated"];
  }
  // The price per call is owed for each request that was not refused.
  return { meters: model.price?.call === undefined ? meters : { ...meters, call: requests }, source };
}

/**
 * Takes back what was sent to a route that is paused, or was by this failure, and of whose answer not one byte came: such a provider
 * is gone, and does not go on with the request. Called when the call has failed.
 */
export function forgiveUnbegun(kernel: Kernel, run: ModelRun): void {
  for (const { route, sent } of run.attempts) {
    if (route.circuitBreaker.stateAt(kernel.now()) === "closed") continue;
    for (const request of sent) if (!request.hasBegun) run.sent.delete(request);
  }
}

/**
 * Records the debt of a failed call: an answer that came and is no refusal, and requests that were sent if the call was
 * cut by its client or by the gateway, because the provider goes on and bills it.
 */
export function recordOwed(kernel: Kernel, run: ModelRun, error: unknown, isUnpaid: boolean): void {
  const isTimeout = error instanceof UpstreamError && error.kind === "timeout";
  if (isUnpaid || isTimeout || run.call.clientLeft || run.call.cancelReason !== undefined) {
    run.cutAfterMs = kernel.now() - run.sentMs;
  }
  if (run.owedRequests.length > 0) run.usageMeter.produced = true;
}

function sumServed<C extends Capability>(run: ModelRun<C>, handler: CapabilityHandler<C>): ServedUsage {
  const { model } = run.modelEntry;
  const requests = run.owedRequests;
  let meters: Meters | undefined;
  let [open, cut] = [0, 0];
  for (const { usage, isWhole } of requests) {
    const report = usage === undefined ? undefined : handler.toReport(run, usage);
    if (report === undefined) {
      open++;
      if (!isWhole) cut++;
    } else
      meters = addMeters(addMeters(meters ?? {}, report), { ...boundUnits(model, 1), ...readUnits([usage], model) });
  }
  return { requests: requests.length, open, cut, meters };
}

/**
 * Bounds a report that exceeds what the call can have used: of the prompt more than the model's context for each
 * request, of the output more than its limit, of a unit more than is held for it. The rest of the report is believed.
 */
function boundReport(run: ModelRun, meters: Meters, requests: number): Meters | undefined {
  const { upper } = run.bounds;
  const { model } = run.modelEntry;
  const limit = (model.outputTokensMax ?? mediaTokensDefault) * requests;
  const outputMax = (sumOutputTokens(upper) ?? 0) * limitMargin.share + limitMargin.tokens;
  // A limit that the provider was not sent bounds nothing.
  const isLimited =
    run.call.request.capability === "chat" && !run.attempts.some(({ leavesOutLimit }) => leavesOutLimit);
  const over: MeterName[] = [];
  if (sumPromptTokens(meters) > promptTokensMaxOf(run, requests)) over.push(...promptMeters);
  if ((sumOutputTokens(meters) ?? 0) > (isLimited ? outputMax : Math.max(outputMax, limit))) over.push(...answerMeters);
  const unitRequests = Math.max(requests, run.requestsHeld);
  for (const name of unitMeters) {
    if (meters[name] !== undefined && meters[name] > unitRequests * getUnitMax(run, name)) over.push(name);
  }
  if (over.length === 0) return undefined;
  const bounded: Meters = { ...meters };
  for (const name of over) {
    delete bounded[name];
    const most = upper[name] ?? (unitMeters.includes(name) ? requests * getUnitMax(run, name) : 0);
    if (most > 0) bounded[name] = most;
  }
  return bounded;
}

/** The most of a unit that one request uses: what is held for it, or what the row of the model says where that is more. */
function getUnitMax({ bounds: { upper }, modelEntry: { model } }: ModelRun, name: MeterName): number {
  const { rowMax, requestMax = 0 } = getMeter(name);
  if (rowMax !== undefined) return Math.max(upper[name] ?? 0, model[rowMax] ?? requestMax);
  return upper[name] ?? requestMax;
}

/** Counts what the run used, and charges it. @param watch Absent: nothing compares the prompt with earlier ones. */
export async function settle(kernel: Kernel, run: ModelRun, watch?: PromptWatch): Promise<void> {
  const { call, usageMeter } = run;
  const { capability, startedMs, protocol, clientRequestId } = call.request;
  const { model } = run.modelEntry;
  const { reported } = usageMeter;
  let charge: Count | Promise<Count>;
  try {
    charge = usageMeter.count();
    if (charge instanceof Promise) charge = await charge;
  } catch (error) {
    kernel.log.error("estimate_failed", { call: call.id, error: withoutWords(error) });
    charge = toCharge(run, { meters: reported ?? {}, source: reported === undefined ? "none" : "reported" }, true);
  }
  const { meters, source } = charge;
  const price = priceOfRun(run, meters);
  const cost = price === undefined ? undefined : costNanodollars(price, meters);
  const owed = price === undefined ? undefined : toOwed(run, { price, meters, cost });
  const { implausible } = usageMeter;
  const unbelieved = implausible === undefined ? undefined : getUnbelieved(run, implausible, cost);
  const effect = source === "reported" ? readCacheEffect(run, watch, { meters, price }) : undefined;
  const cache = effect instanceof Promise ? await effect : effect;
  run.outcome = {
    meters,
    usageSource: source,
    costNanodollars: cost,
    ...owed,
    unbelievedNanodollars: unbelieved,
    cache,
  };
  if (implausible !== undefined) noteImplausible(kernel, run, implausible);
  if (run.cacheMarks === "marked" && source === "reported" && price !== undefined)
    countMarks(kernel, run, price, meters);
  const unpriced = price === undefined || !model.premium ? [] : listUnpriced(price, meters);
  if (unpriced.length > 0) {
    kernel.log.warn("usage_unpriced", { call: call.id, model: model.id, plugin: run.plugin, meters: unpriced });
  }
  await kernel.ledger.settle({
    callId: run.ledgerId,
    outcome: source === "none" ? "released" : "settled",
    plugin: run.plugin,
    meters,
    usageSource: source,
    costNanodollars: cost,
    ...owed,
    quotaTokens: model.premium ? 0 : toQuotaTokens(meters, model),
    status: run.status,
    errorCode: run.errorCode,
    firstByteMs: run.firstByteMs,
    durationMs: kernel.now() - startedMs,
    protocol: capability === "chat" ? protocol : undefined,
    clientRequestId,
    cache,
    detail: formatCallDetail(run, kernel, tierOfPrice(run, price)),
  });
}

/**
 * The amount that the provider is owed, where that is not the cost itself: without the markup, and at the price of its own row where the model's
 * price is another provider's. A row without a price, or without a rate for anything that was used, says nothing.
 */
function toOwed(
  run: ModelRun,
  { price, meters, cost }: { price: CompiledPrice; meters: Meters; cost: number | undefined },
): Pick<Settlement, "providerCostNanodollars" | "providerPriceVersion"> | undefined {
  const ofPrice =
    price.markupBasisPoints === undefined
      ? undefined
      : { providerCostNanodollars: costNanodollars(withMarkup(price, 0), meters) };
  const row = run.attempt?.route.model;
  if (row?.price === undefined || row === run.modelEntry.model) return ofPrice;
  const whole = withMarkup(compilePrice(row.price), 0);
  const tier = tierOfPrice(run, price);
  const own = (tier === undefined ? undefined : getOwn(whole.serviceTiers ?? {}, tier)) ?? whole;
  const ownCost = costNanodollars(own, meters);
  if (ownCost === undefined || ownCost === (ofPrice?.providerCostNanodollars ?? cost)) return ofPrice;
  return { providerCostNanodollars: ownCost, providerPriceVersion: whole.version };
}

/** Counts what the gateway's marks saved, and shows the operator that they stop. */
function countMarks({ promptCaching, log, now }: Kernel, run: ModelRun, price: CompiledPrice, meters: Meters): void {
  const lost = promptCaching.count(run, price, meters, now());
  if (lost === undefined) return;
  const { accountId: account, keyId: key } = run.caller;
  log.info("cache_marks_stopped", { account, key, model: run.model, lostUsd: lost / nanodollarsPerUsd });
}

/** The cost of a report that was not believed, beyond what is charged. */
function getUnbelieved(run: ModelRun, reported: Meters, chargedNanodollars: number | undefined): number | undefined {
  const price = priceOfRun(run, reported);
  const cost = price === undefined ? undefined : costNanodollars(price, reported);
  if (cost === undefined || chargedNanodollars === undefined) return undefined;
  return Math.max(0, cost - chargedNanodollars);
}

/** Shows the operator a report that was not believed, and what is not charged for it. */
function noteImplausible({ log, now }: Kernel, run: ModelRun, reported: Meters): void {
  const { call, model, plugin, outcome, attempt } = run;
  const { meters, unbelievedNanodollars } = outcome;
  const unchargedUsd = unbelievedNanodollars && unbelievedNanodollars / nanodollarsPerUsd;
  log.warn("usage_implausible", { call: call.id, model, plugin, reported, charged: meters, unchargedUsd });
  attempt?.warn(
    `The provider reported more than the call can have used: ${describeMeters(reported)}; charged: ${describeMeters(meters)}`,
    [],
  );
  attempt?.route.health.onImplausible(now());
}

function describeMeters(meters: Meters): string {
  return Object.entries(meters)
    .map(([name, amount]) => `${amount} ${name}`)
    .join(", ");
}

/** JSON of the {@link CallDetail}; undefined when there is nothing to tell. */
function formatCallDetail(run: ModelRun, { registry }: Pick<Kernel, "registry">, tier?: string): string | undefined {
  const { call, sink, answer, error, attempts, ignored, lowered, paused, cacheMarks, guard } = run;
  const { finishReasons } = answer;
  const { warnings } = call;
  const { caller, body } = call.request;
  const policies = guard?.records.filter(({ result, label }) => result !== "allow" || label !== undefined);
  const failedAttempts: FailedAttempt[] = [];
  for (const attempt of attempts) if (attempt.endedMs !== undefined) failedAttempts.push(describeFailure(attempt));
  const detail: CallDetail = {
    requested: registry.byName(body.model)?.model.id === run.model ? undefined : body.model,
    stream: sink === undefined ? undefined : true,
    tier,
    finish: finishReasons?.length ? finishReasons : undefined,
    error: error?.message.slice(0, messageCharactersMax),
    attempts: failedAttempts.length === 0 ? undefined : failedAttempts,
    paused,
    ignored: ignored.size === 0 ? undefined : [...ignored],
    lowered,
    warnings: warnings.length === 0 ? undefined : warnings,
    cache_marks: cacheMarks === "client" || cacheMarks === "off" ? undefined : cacheMarks,
    cache: answer.cacheReport?.reason,
    policies: policies?.length ? policies : undefined,
    subject: caller.token?.subject,
    end_user: caller.token?.endUser,
  };
  const text = JSON.stringify(detail);
  return text === "{}" ? undefined : text;
}

/** The words of whatever a plugin threw, and of its cause. */
function wordsOf(thrown: unknown): string {
  if (!(thrown instanceof Error)) return typeof thrown === "string" ? thrown : typeof thrown;
  const { name, message, cause } = thrown;
  return `${name}: ${message}${cause instanceof Error ? ` (${cause.message})` : ""}`;
}

/** Describes a failed attempt without the keys that a provider repeats. Its words are content, and in no other log. */
function describeFailure({ route, error, startedMs, endedMs = startedMs }: Attempt): FailedAttempt {
  const isUpstream = error instanceof UpstreamError;
  const isKnown = isUpstream || error instanceof GatewayError;
  const message = isKnown ? ((isUpstream ? error.providerMessage : undefined) ?? error.message) : wordsOf(error);
  return {
    plugin: route.plugin.name,
    duration_ms: Math.round(endedMs - startedMs),
    error: isUpstream ? error.kind : error instanceof GatewayError ? error.code : "plugin_failed",
    status: isUpstream ? error.status : undefined,
    message: route.keys.hide(isKnown ? message : `The plugin failed: ${message}`).slice(0, messageCharactersMax),
  };
}
