import {
  type Capability,
  type CheckInput,
  costNanodollars,
  GatewayError,
  type Meters,
  sumTokens,
} from "../contract/index.ts";
import type { CallContext } from "./call-context.ts";
import { formatCallDetail } from "./call-detail.ts";
import { chatHandler } from "./capabilities/chat.ts";
import { embeddingsHandler } from "./capabilities/embeddings.ts";
import { imagesHandler } from "./capabilities/images.ts";
import { moderationHandler } from "./capabilities/moderation.ts";
import { rerankHandler } from "./capabilities/rerank.ts";
import { speechHandler } from "./capabilities/speech.ts";
import { transcriptionHandler } from "./capabilities/transcription.ts";
import { toClientError } from "./errors.ts";
import type { AnswerOf } from "./exchange.ts";
import { findCandidates, runCandidates } from "./fallback.ts";
import { GrowingHold, type HoldAmount } from "./growing-hold.ts";
import { type Count, toQuotaTokens } from "./normalize/usage.ts";
import { createUsageMeter, recordOwed } from "./owed.ts";
import { recordLateFailure } from "./routing/failures.ts";
import type { Candidate } from "./routing/registry.ts";
import { costMaxOfCall, priceOfCall } from "./service-tier.ts";
import { nextTurn } from "./streaming.ts";
import type { CapabilityHandler, Growth, Kernel } from "./types.ts";

const fundErrors: ReadonlySet<string> = new Set(["insufficient_balance", "budget_exceeded", "quota_exceeded"]);

const handlers: { readonly [C in Capability]: CapabilityHandler<C> } = {
  chat: chatHandler,
  embeddings: embeddingsHandler,
  images: imagesHandler,
  transcription: transcriptionHandler,
  speech: speechHandler,
  moderation: moderationHandler,
  rerank: rerankHandler,
};

/**
 * Runs a call: resolve the model, validate, admit, execute, settle. Whatever happens after admission (the provider fails
 * or hangs, a plugin throws, the client disconnects), the call is settled before this returns. Where several models may
 * serve it, they are tried in turn.
 *
 * @throws {GatewayError} The error for the caller.
 */
export async function runCall<C extends Capability>(kernel: Kernel, call: CallContext<C>): Promise<AnswerOf<C>> {
  call.candidates ??= findCandidates(kernel, call.request.model, call);
  const [first, ...others] = call.candidates;
  return others.length === 0 ? runModel(kernel, call, first) : runCandidates(kernel, call, runModel);
}

async function runModel<C extends Capability>(
  kernel: Kernel,
  call: CallContext<C>,
  { name, modelEntry }: Candidate,
): Promise<AnswerOf<C>> {
  const handler: CapabilityHandler<C> = handlers[call.capability];
  call.modelEntry = modelEntry;
  call.isSuccession = modelEntry !== kernel.registry.byName(name);
  call.model = call.modelEntry.model.id;
  await handler.validate(call, kernel);
  if (call.isLarge) await nextTurn();
  validateByPlugins(call);
  if (call.isLarge) await nextTurn();
  await admitOrCount(kernel, call, handler);
  call.usageMeter = createUsageMeter(kernel, call, handler);
  try {
    if (call.isLarge) await nextTurn();
    // A plugin that ignores its signal, or a client that stops reading, does not keep the call from settling.
    const answer = await call.untilCancelled(handler.execute(kernel, call));
    call.currentRoute?.health.onSuccess(call.caller.accountId);
    if (call.clientLeft) recordDisconnect(call);
    return answer;
  } catch (error) {
    throw fail(kernel, call, error);
  } finally {
    call.clearDeadline(kernel.network.timeouts);
    call.growingHold?.stop();
    if (call.status !== 200 || call.attempts > 1) call.abort();
    await settle(kernel, call);
  }
}

/** Refuses a request that no route of the model can send. Only a `GatewayError` of a plugin's check counts. */
function validateByPlugins({ modelEntry, capability, request, passthrough }: CallContext): void {
  let refusal: GatewayError | undefined;
  for (const { plugin, model } of modelEntry.routes) {
    if (passthrough?.isServedBy(plugin)) return;
    const check = plugin.checks?.[capability] as ((input: CheckInput<unknown>) => void) | undefined;
    if (check === undefined) return;
    try {
      check({ request, model });
      return;
    } catch (error) {
      if (!(error instanceof GatewayError)) return;
      refusal ??= error;
    }
  }
  if (refusal !== undefined) throw refusal;
}

/**
 * Admits a call. A prompt that its provider can count far lower than the gateway can bound it is counted where its bound is
 * more than the caller can pay; that is a request of its own to the caller's limits.
 */
async function admitOrCount<C extends Capability>(
  kernel: Kernel,
  call: CallContext<C>,
  handler: CapabilityHandler<C>,
): Promise<void> {
  try {
    await admit(kernel, call, handler);
  } catch (refusal) {
    const isOfFunds = refusal instanceof GatewayError && fundErrors.has(refusal.code);
    if (!isOfFunds || !(await handler.countPrompt?.(kernel, call))) throw refusal;
    await admit(kernel, call, handler);
  }
}

/**
 * Holds the most that the call can use, or of a stream that can be followed a first part of it. If less than the most is
 * left, the request is lowered to that.
 */
async function admit<C extends Capability>(
  kernel: Kernel,
  call: CallContext<C>,
  handler: CapabilityHandler<C>,
): Promise<void> {
  const { ledger } = kernel;
  const { model, compiledPrice } = call.modelEntry;
  const upper = handler.upperBound(call);
  const most = toHold(call, upper);
  const growth = most.nanodollars === Number.MAX_SAFE_INTEGER ? undefined : handler.growth?.(call, upper);
  const first = growth === undefined ? upper : growth.boundOf(Math.min(growth.stepTokens, growth.outputTokensMax()));
  const wanted = toHold(call, first);
  const least = handler.lowerBound === undefined ? most : toHold(call, handler.lowerBound(call, upper));
  call.hold = await ledger.admit({
    callId: call.ledgerId,
    caller: call.caller,
    model: model.id,
    capability: call.capability,
    premium: model.premium,
    holdNanodollars: wanted.nanodollars,
    minNanodollars: least.nanodollars,
    holdTokens: wanted.tokens,
    minTokens: least.tokens,
    limitTokens: sumTokens(first) ?? handler.promptTokens?.(call) ?? 0,
    priceVersion: compiledPrice?.version,
    session: call.session,
    openedAt: call.openedAt,
  });
  const { heldNanodollars, heldTokens, availableNanodollars, availableTokens } = call.hold;
  const [maxNanodollars, maxTokens] =
    growth === undefined ? [heldNanodollars, heldTokens] : [availableNanodollars, availableTokens];
  const covers = ({ nanodollars, tokens }: HoldAmount) => nanodollars <= maxNanodollars && tokens <= maxTokens;
  call.upper = upper;
  if (!covers(most)) handler.lower?.(call, upper, (meters) => covers(toHold(call, meters)));
  if (growth === undefined) return;
  call.growingHold = new GrowingHold({
    ledger,
    hold: call.hold,
    amountOf: (outputTokens) => toHold(call, growth.boundOf(outputTokens)),
    limitTokensOf: (outputTokens) => sumTokens(growth.boundOf(outputTokens)) ?? 0,
    stepTokens: growth.stepTokens,
    outputTokensMax: growth.outputTokensMax(),
    hidden: toHidden(kernel, call, growth),
  });
}

function toHidden(kernel: Kernel, call: CallContext, { hiddenTokensPerSecond: tokensPerSecond }: Growth) {
  if (tokensPerSecond === undefined) return undefined;
  return { tokensPerSecond, timeouts: kernel.network.timeouts, now: kernel.now, end: call.endWith.bind(call) };
}

/** What usage takes of the wallet, or of the free quota. A cost too large to compute is more than any wallet has. */
function toHold(call: CallContext, meters: Meters): HoldAmount {
  const { model } = call.modelEntry;
  if (!model.premium) return { nanodollars: 0, tokens: toQuotaTokens(meters, model) };
  return { nanodollars: costMaxOfCall(call, meters) ?? Number.MAX_SAFE_INTEGER, tokens: 0 };
}

/** Records a failure in the call, at its route and in the log. Returns the error for the caller. */
function fail(kernel: Kernel, call: CallContext, error: unknown): GatewayError {
  const failure = toClientError(error, call);
  call.status = failure.status;
  call.errorCode = failure.code;
  call.errorMessage = failure.message;
  if (call.clientLeft || call.cancelReason === "client_disconnected") recordDisconnect(call);
  // Cut because nothing is left: what was made until then is owed, the hidden part of it too.
  recordOwed(kernel, call, error, fundErrors.has(failure.code));
  if (recordLateFailure(error, call, kernel.now())) kernel.log.warn("circuit_opened", { call: call.id });
  if (failure.code === "internal_error") kernel.log.error("call_failed", { call: call.id, error });
  return failure;
}

/** What was sent is owed: the provider bills the prompt, also where no part of the answer has come. */
function recordDisconnect(call: CallContext): void {
  call.status = 499;
  call.errorCode = "client_disconnected";
  if (call.sent.size > 0) call.usageMeter.produced = true;
}

async function settle(kernel: Kernel, call: CallContext): Promise<void> {
  const { usageMeter } = call;
  const { model } = call.modelEntry;
  const { meters, source } = await usageMeter.count().catch((error): Count => {
    kernel.log.error("estimate_failed", { call: call.id, error });
    return { meters: usageMeter.reported ?? {}, source: usageMeter.reported === undefined ? "none" : "reported" };
  });
  call.meters = meters;
  call.usageSource = source;
  if (usageMeter.implausible !== undefined) {
    const { model: id, route, id: callId } = call;
    kernel.log.warn("usage_implausible", {
      call: callId,
      model: id,
      route,
      reported: usageMeter.implausible,
      charged: meters,
    });
    call.currentRoute?.health.onImplausible(kernel.now());
  }
  const price = priceOfCall(call, meters);
  call.costNanodollars = price === undefined ? undefined : costNanodollars(price, meters);
  await kernel.ledger.settle({
    callId: call.ledgerId,
    outcome: source === "none" ? "released" : "settled",
    route: call.route,
    meters,
    usageSource: source,
    costNanodollars: call.costNanodollars,
    quotaTokens: model.premium ? 0 : toQuotaTokens(meters, model),
    status: call.status,
    errorCode: call.errorCode,
    firstByteMs: call.firstByteMs,
    durationMs: kernel.now() - call.startedMs,
    protocol: call.capability === "chat" ? call.protocol : undefined,
    clientRequestId: call.clientRequestId,
    detail: formatCallDetail(call),
    tag: call.tag,
  });
}
