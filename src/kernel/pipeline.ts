/**
 * The life of a call, from top to bottom. A checked request and the models that may serve it come in; each model is tried
 * in turn until one serves it. For a model: validate what it takes, admit (limits, then free quota or wallet and budgets,
 * and the hold of the most that it can cost), ask its routes until one begins to answer, give the answer out, and settle:
 * usage is counted and charged once, whatever happened in between.
 */
import { type Capability, GatewayError } from "../contract/index.ts";
import { withoutWords } from "../lib/describe-error.ts";
import { nextTurn } from "../lib/next-turn.ts";
import type { CheckInput } from "../provider/index.ts";
import { admit, fundErrors } from "./admission.ts";
import { PromptWatch } from "./cache-effect.ts";
import { type ClientCall, type ExchangeAnswer, ModelRun } from "./call.ts";
import { chatCapability } from "./capabilities/chat.ts";
import { embeddingsCapability } from "./capabilities/embeddings.ts";
import { imageEditsCapability, imagesCapability } from "./capabilities/images.ts";
import { moderationCapability } from "./capabilities/moderation.ts";
import { rerankCapability } from "./capabilities/rerank.ts";
import { speechCapability } from "./capabilities/speech.ts";
import { transcriptionCapability, translationCapability } from "./capabilities/transcription.ts";
import { toClientError, withEarlierFailures } from "./client-error.ts";
import { isOfModel, mayFallBack, recordLateFailure } from "./failover.ts";
import { RunGuard } from "./policies/run-guard.ts";
import type { Candidate, Candidates } from "./routing/registry.ts";
import { createUsageMeter, forgiveUnbegun, recordOwed, settle } from "./settlement.ts";
import type { CapabilityHandler, Kernel } from "./types.ts";

const handlers: { readonly [C in Capability]: CapabilityHandler<C> } = {
  chat: chatCapability,
  embeddings: embeddingsCapability,
  images: imagesCapability,
  imageEdits: imageEditsCapability,
  transcription: transcriptionCapability,
  translation: translationCapability,
  speech: speechCapability,
  moderation: moderationCapability,
  rerank: rerankCapability,
};

/**
 * Runs a call. Whatever happens after admission (the provider fails or hangs, a plugin throws, the client disconnects),
 * the call is settled before this returns. Each model is held, charged and recorded separately, so a model that did not
 * serve costs nothing. Another model follows only while no output was sent, and only after a failure that it may not
 * have.
 *
 * @param candidates The models that may serve the call, in the order they are tried.
 * @throws {GatewayError} The error for the caller, with the outcomes of the models before the last.
 */
export async function runCall<C extends Capability>(
  kernel: Kernel,
  call: ClientCall<C>,
  candidates: Candidates,
): Promise<ExchangeAnswer<C>> {
  const { capability, startedMs, sink } = call.request;
  const handler: CapabilityHandler<C> = handlers[capability];
  const usageMeterOf = (run: ModelRun<C>) => createUsageMeter(kernel, run, handler);
  for (let index = 0; index < candidates.length; index++) {
    const candidate = candidates[index] as Candidate;
    // Each looks through the whole request, which for a large one is as much as a turn of the event loop may take.
    if (index > 0) await nextTurn();
    const beganMs = kernel.now();
    const isLast = index === candidates.length - 1;
    const record = (ms: number) =>
      candidate.speeds?.record(candidate.name, ms, { nowMs: kernel.now(), isStream: sink !== undefined });
    const guard = createGuard(kernel, call, candidate);
    const run = new ModelRun(call, candidate, { usageMeterOf, isLast, guard });
    try {
      const answer = await runModel(kernel, run, { handler, guard });
      record((run.firstByteMs === undefined ? kernel.now() : startedMs + run.firstByteMs) - beganMs);
      return answer;
    } catch (error) {
      if (!(error instanceof GatewayError)) throw error;
      if (isOfModel(run, error)) record(Number.POSITIVE_INFINITY);
      if (isLast || !mayFallBack(run, error)) throw withEarlierFailures(run, error);
      const { model, ledgerId } = run;
      kernel.log.warn("model_fallback", { call: call.id, ledger_id: ledgerId, model, error: error.code });
    }
  }
  throw new TypeError("There is no model to try");
}

/** The policies that apply to a model of a call; `undefined` where none does. */
function createGuard({ registry, now }: Kernel, call: ClientCall, { modelEntry }: Candidate): RunGuard | undefined {
  const model = modelEntry.model.id;
  const applied = registry.policies?.find(call.request.caller, model);
  return applied && new RunGuard(call, { model, applied, now });
}

async function runModel<C extends Capability>(
  kernel: Kernel,
  run: ModelRun<C>,
  { handler, guard }: { handler: CapabilityHandler<C>; guard: RunGuard | undefined },
): Promise<ExchangeAnswer<C>> {
  const { call } = run;
  try {
    if (run.passthrough !== undefined) run.modelEntry = run.passthrough.chooseRoutes(run.modelEntry);
    const validating = handler.validate(run, kernel);
    const request = validating instanceof Promise ? await validating : validating;
    if (request !== undefined) run.request = request;
    if (guard !== undefined) await guard.checkRequest(run);
    if (run.isLarge) await nextTurn();
    validateByPlugins(run);
    if (run.isLarge) await nextTurn();
    await admit(kernel, run, handler);
  } catch (error) {
    refuse(run, error);
    throw error;
  }
  let watch: PromptWatch | undefined;
  try {
    if (run.isLarge) await nextTurn();
    // A prompt whose middle only its provider has cannot be compared.
    if (call.request.steering === undefined) watch = PromptWatch.begin(kernel, run);
    // A plugin that ignores its signal, or a client that stops reading, does not keep the call from settling.
    const answering = handler.execute(kernel, run);
    const answer = await call.untilCancelled(guard?.checkAnswer(kernel, run, answering) ?? answering);
    run.attempt?.route.health.onSuccess(run.caller.accountId);
    if (call.clientLeft) recordDisconnect(run);
    return answer;
  } catch (error) {
    throw fail(kernel, run, error);
  } finally {
    call.clearDeadline(kernel.network.timeouts);
    run.growingHold?.stop();
    if (run.failure !== undefined || call.attempts > 1 || run.attempt?.hasSocket) run.attempt?.abort();
    await settle(kernel, run, watch);
  }
}

/** Refuses a request that no route of the model can send. Only a `GatewayError` of a plugin's check counts. */
function validateByPlugins({ modelEntry, call, request, passthrough }: ModelRun): void {
  const { capability } = call.request;
  let refusal: GatewayError | undefined;
  for (const { plugin, model } of modelEntry.routes) {
    if (passthrough?.isServedBy({ plugin, model })) return;
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

/** Records why a model was not admitted: nothing is held or charged for it. */
function refuse(run: ModelRun, error: unknown): void {
  run.failure =
    error instanceof GatewayError
      ? { error, status: error.status, code: error.code }
      : { error: undefined, status: 500, code: "internal_error" };
}

/** Records a failure in the run, at its route and in the log. Returns the error for the caller. */
function fail(kernel: Kernel, run: ModelRun, error: unknown): GatewayError {
  const { call } = run;
  const failure = toClientError(error, run);
  run.failure = { error: failure, status: failure.status, code: failure.code };
  if (recordLateFailure(error, run, kernel.now())) kernel.log.warn("circuit_opened", { call: call.id });
  forgiveUnbegun(kernel, run);
  if (call.clientLeft || call.cancelReason === "client_disconnected") recordDisconnect(run);
  // Cut because no funds are left: the output made so far is owed, including its hidden part.
  recordOwed(kernel, run, error, fundErrors.has(failure.code));
  if (failure.code === "internal_error") {
    // A plugin words its errors, and may quote what its provider sent: the words are in the request log alone.
    const isOwn = run.attempt === undefined && !(error instanceof GatewayError);
    kernel.log.error("call_failed", { call: call.id, error: isOwn ? error : withoutWords(error) });
    if (run.attempt?.isAnswered && !(error instanceof GatewayError)) run.attempt.fail(error, kernel.now());
  }
  return failure;
}

/** A sent request is owed: the provider bills the prompt even if no part of the answer has come. */
function recordDisconnect(run: ModelRun): void {
  run.failure = { error: run.failure?.error, status: 499, code: "client_disconnected" };
  if (run.sent.size > 0) run.usageMeter.produced = true;
}
