import {
  type AdmissionRequest,
  type Caller,
  type Capability,
  type CheckInput,
  costNanodollars,
  GatewayError,
  type Meters,
  type Settlement,
} from "../contract/index.ts";
import type { Progress } from "./call-context.ts";
import { chatCapability } from "./capabilities/chat.ts";
import { embeddingsCapability } from "./capabilities/embeddings.ts";
import { imagesCapability } from "./capabilities/images.ts";
import { speechCapability } from "./capabilities/speech.ts";
import { transcriptionCapability } from "./capabilities/transcription.ts";
import { toClientError } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import { quotaTokensOf } from "./normalize/quota.ts";
import { type Count, UsageMeter } from "./normalize/usage-meter.ts";
import { logLateFailure } from "./note-late-failure.ts";
import type { StreamSink } from "./outlet.ts";
import type { ModelEntry } from "./routing/registry.ts";
import type { CapabilityHandler } from "./trade.ts";

/** Every capability's way of doing business. */
export const capabilityHandlers = {
  chat: chatCapability,
  embeddings: embeddingsCapability,
  images: imagesCapability,
  transcription: transcriptionCapability,
  speech: speechCapability,
};

export type RequestOf<C extends Capability> = Parameters<(typeof capabilityHandlers)[C]["check"]>[0];
export type ReplyOf<C extends Capability> = Awaited<ReturnType<(typeof capabilityHandlers)[C]["serve"]>>;
export type PieceOf<C extends Capability> =
  (typeof capabilityHandlers)[C] extends CapabilityHandler<never, unknown, infer Piece> ? Piece : never;

/** A checked request and who asks it. */
export interface Order<C extends Capability> {
  readonly capability: C;
  readonly caller: Caller;
  readonly request: RequestOf<C>;
  readonly progress: Progress;
  readonly sink?: StreamSink<PieceOf<C>> | undefined;
}

/**
 * The way of a call, from a checked request to a settled one. Whatever happens after the hold (the provider fails or
 * hangs, a plugin throws, the client leaves), the call ends in the same settle, and only then does this return.
 *
 * @throws {GatewayError} Whatever the caller is to be told.
 */
export async function serve<C extends Capability>(kernel: Kernel, order: Order<C>): Promise<ReplyOf<C>> {
  const { caller, request, progress } = order;
  const handler = capabilityHandlers[order.capability] as unknown as CapabilityHandler<
    RequestOf<C>,
    ReplyOf<C>,
    PieceOf<C>
  >;
  const modelEntry = kernel.registry.find(request.model, order.capability, caller);
  progress.model = modelEntry.model.id;
  progress.request = request;
  const checked = handler.check(request, modelEntry);
  if (checked !== undefined) await checked;
  checkByPlugins(modelEntry, order.capability, request);
  progress.hold = await kernel.ledger.admit(
    createAdmission(order, modelEntry, handler.worstCase(request, modelEntry), handler.promptTokens(request)),
  );
  const output = { text: "", length: 0 };
  const usageMeter = new UsageMeter(() => handler.estimate(request, output, modelEntry));
  try {
    const job = { kernel, modelEntry, request, progress, usageMeter, sink: order.sink };
    // A plugin that ignores its signal, or a reader that never comes back, does not keep a call from settling.
    const reply = await progress.untilCancelled(handler.serve(job, output));
    progress.trying?.health.onSuccess();
    return reply;
  } catch (error) {
    const told = ended(toClientError(error, progress), progress);
    if (logLateFailure(error, progress, kernel.now())) kernel.log.warn("circuit_opened", { call: progress.id });
    if (told.code === "internal_error") kernel.log.error("call_failed", { call: progress.id, error });
    throw told;
  } finally {
    progress.unlimit(kernel.network.deadlines);
    if (progress.status !== 200 || progress.attempts > 1) progress.abort();
    await settle(kernel, modelEntry, progress, usageMeter);
  }
}

/** Refuses what no route of the offer could ask its provider. A check that fails in another way says nothing. */
function checkByPlugins(modelEntry: ModelEntry, capability: Capability, request: unknown): void {
  let refusal: GatewayError | undefined;
  for (const { plugin, model } of modelEntry.routes) {
    const check = plugin.checks?.[capability] as ((asked: CheckInput<unknown>) => void) | undefined;
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

function createAdmission<C extends Capability>(
  order: Order<C>,
  modelEntry: ModelEntry,
  worst: Meters,
  limitTokens: number,
): AdmissionRequest {
  const { model, compiledPrice } = modelEntry;
  const cost = compiledPrice === undefined || !model.premium ? undefined : costNanodollars(compiledPrice, worst);
  return {
    callId: order.progress.id,
    caller: order.caller,
    model: model.id,
    capability: order.capability,
    premium: model.premium,
    // A worst case beyond all arithmetic holds everything there is.
    holdNanodollars: model.premium ? (cost === undefined ? Number.MAX_SAFE_INTEGER : cost) : 0,
    holdTokens: model.premium ? 0 : quotaTokensOf(worst, model),
    limitTokens,
    priceVersion: compiledPrice?.version,
    openedAt: order.progress.openedAt,
  };
}

function ended(error: GatewayError, progress: Progress): GatewayError {
  progress.status = progress.cancelReason === "left" ? 499 : error.status;
  progress.errorCode = progress.cancelReason === "left" ? "client_left" : error.code;
  return error;
}

async function settle(
  kernel: Kernel,
  modelEntry: ModelEntry,
  progress: Progress,
  usageMeter: UsageMeter,
): Promise<void> {
  const { meters, source } = await usageMeter.count().catch((error): Count => {
    kernel.log.error("estimate_failed", { call: progress.id, error });
    return { meters: usageMeter.reported ?? {}, source: usageMeter.reported === undefined ? "none" : "reported" };
  });
  progress.meters = meters;
  progress.usageSource = source;
  progress.costNanodollars =
    modelEntry.compiledPrice === undefined ? undefined : costNanodollars(modelEntry.compiledPrice, meters);
  const settlement: Settlement = {
    callId: progress.id,
    outcome: source === "none" ? "released" : "settled",
    route: progress.route,
    meters,
    usageSource: source,
    costNanodollars: progress.costNanodollars,
    quotaTokens: modelEntry.model.premium ? 0 : quotaTokensOf(meters, modelEntry.model),
    status: progress.status,
    errorCode: progress.errorCode,
    firstByteMs: progress.firstByteMs,
    durationMs: kernel.now() - progress.openedAt,
  };
  await kernel.ledger.settle(settlement);
}
