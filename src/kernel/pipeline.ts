import {
  type AdmissionRequest,
  type Capability,
  type CheckInput,
  costNanodollars,
  GatewayError,
  type Meters,
} from "../contract/index.ts";
import type { AnswerOf, CallContext } from "./call-context.ts";
import { chatHandler } from "./capabilities/chat.ts";
import { embeddingsHandler } from "./capabilities/embeddings.ts";
import { imagesHandler } from "./capabilities/images.ts";
import { speechHandler } from "./capabilities/speech.ts";
import { transcriptionHandler } from "./capabilities/transcription.ts";
import { recordLateFailure, toClientError } from "./errors.ts";
import { type Count, toQuotaTokens, UsageMeter } from "./normalize/usage-meter.ts";
import type { CapabilityHandler, Kernel } from "./types.ts";

const handlers: { readonly [C in Capability]: CapabilityHandler<C> } = {
  chat: chatHandler,
  embeddings: embeddingsHandler,
  images: imagesHandler,
  transcription: transcriptionHandler,
  speech: speechHandler,
};

/**
 * Runs a call: resolve the model, validate, admit, execute, settle. Whatever happens after admission (the provider fails
 * or hangs, a plugin throws, the client disconnects), the call is settled before this returns.
 *
 * @throws {GatewayError} The error for the caller.
 */
export async function runCall<C extends Capability>(kernel: Kernel, call: CallContext<C>): Promise<AnswerOf<C>> {
  const handler: CapabilityHandler<C> = handlers[call.capability];
  call.modelEntry = kernel.registry.find(call.request.model, call.capability, call.caller);
  call.model = call.modelEntry.model.id;
  const validation = handler.validate(call);
  if (validation !== undefined) await validation;
  validateByPlugins(call);
  call.hold = await kernel.ledger.admit(toAdmission(call, handler.upperBound(call), handler.promptTokens(call)));
  call.usageMeter = new UsageMeter(() => handler.estimate(call));
  try {
    // A plugin that ignores its signal, or a client that stops reading, does not keep the call from settling.
    const answer = await call.untilCancelled(handler.execute(kernel, call));
    call.currentRoute?.health.onSuccess();
    return answer;
  } catch (error) {
    throw fail(kernel, call, error);
  } finally {
    call.clearDeadline(kernel.network.timeouts);
    if (call.status !== 200 || call.attempts > 1) call.abort();
    await settle(kernel, call);
  }
}

/** Refuses a request that no route of the model can send. Only a `GatewayError` of a plugin's check counts. */
function validateByPlugins({ modelEntry, capability, request }: CallContext): void {
  let refusal: GatewayError | undefined;
  for (const { plugin, model } of modelEntry.routes) {
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

function toAdmission(call: CallContext, bound: Meters, promptTokens: number): AdmissionRequest {
  const { model, compiledPrice } = call.modelEntry;
  const cost = compiledPrice === undefined || !model.premium ? undefined : costNanodollars(compiledPrice, bound);
  return {
    callId: call.id,
    caller: call.caller,
    model: model.id,
    capability: call.capability,
    premium: model.premium,
    // A bound that is too large to compute holds the whole balance.
    holdNanodollars: model.premium ? (cost === undefined ? Number.MAX_SAFE_INTEGER : cost) : 0,
    holdTokens: model.premium ? 0 : toQuotaTokens(bound, model),
    limitTokens: promptTokens,
    priceVersion: compiledPrice?.version,
    openedAt: call.openedAt,
  };
}

/** Records a failure in the call, at its route and in the log. Returns the error for the caller. */
function fail(kernel: Kernel, call: CallContext, error: unknown): GatewayError {
  const failure = toClientError(error, call);
  const isDisconnected = call.cancelReason === "client_disconnected";
  call.status = isDisconnected ? 499 : failure.status;
  call.errorCode = isDisconnected ? "client_disconnected" : failure.code;
  if (recordLateFailure(error, call, kernel.now())) kernel.log.warn("circuit_opened", { call: call.id });
  if (failure.code === "internal_error") kernel.log.error("call_failed", { call: call.id, error });
  return failure;
}

async function settle(kernel: Kernel, call: CallContext): Promise<void> {
  const { usageMeter } = call;
  const { model, compiledPrice } = call.modelEntry;
  const { meters, source } = await usageMeter.count().catch((error): Count => {
    kernel.log.error("estimate_failed", { call: call.id, error });
    return { meters: usageMeter.reported ?? {}, source: usageMeter.reported === undefined ? "none" : "reported" };
  });
  call.meters = meters;
  call.usageSource = source;
  call.costNanodollars = compiledPrice === undefined ? undefined : costNanodollars(compiledPrice, meters);
  await kernel.ledger.settle({
    callId: call.id,
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
  });
}
