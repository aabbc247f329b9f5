import {
  type CheckInput,
  type Caller,
  type Capability,
  type Claim,
  costNanodollars,
  GatewayError,
  type Meters,
  type Settlement,
} from "../contract/index.ts";
import type { Progress } from "./call-context.ts";
import { chatTrade } from "./capabilities/chat.ts";
import { embeddingsTrade } from "./capabilities/embeddings.ts";
import { imagesTrade } from "./capabilities/images.ts";
import { speechTrade } from "./capabilities/speech.ts";
import { transcriptionTrade } from "./capabilities/transcription.ts";
import { blame } from "./errors.ts";
import type { Kernel } from "./kernel.ts";
import { quotaTokensOf } from "./normalize/quota.ts";
import { type Count, Tally } from "./normalize/usage-meter.ts";
import { noteLateFailure } from "./note-late-failure.ts";
import type { Outlet } from "./outlet.ts";
import type { Offer } from "./routing/registry.ts";
import type { Trade } from "./trade.ts";

/** Every capability's way of doing business. */
export const trades = {
  chat: chatTrade,
  embeddings: embeddingsTrade,
  images: imagesTrade,
  transcription: transcriptionTrade,
  speech: speechTrade,
};

export type RequestOf<C extends Capability> = Parameters<(typeof trades)[C]["check"]>[0];
export type ReplyOf<C extends Capability> = Awaited<ReturnType<(typeof trades)[C]["serve"]>>;
export type PieceOf<C extends Capability> =
  (typeof trades)[C] extends Trade<never, unknown, infer Piece> ? Piece : never;

/** A checked request and who asks it. */
export interface Order<C extends Capability> {
  readonly capability: C;
  readonly caller: Caller;
  readonly request: RequestOf<C>;
  readonly progress: Progress;
  readonly outlet?: Outlet<PieceOf<C>> | undefined;
}

/**
 * The way of a call, from a checked request to a settled one. Whatever happens after the hold (the provider fails or
 * hangs, a plugin throws, the client leaves), the call ends in the same settle, and only then does this return.
 *
 * @throws {GatewayError} Whatever the caller is to be told.
 */
export async function serve<C extends Capability>(kernel: Kernel, order: Order<C>): Promise<ReplyOf<C>> {
  const { caller, request, progress } = order;
  const trade = trades[order.capability] as unknown as Trade<RequestOf<C>, ReplyOf<C>, PieceOf<C>>;
  const offer = kernel.registry.find(request.model, order.capability, caller);
  progress.model = offer.model.id;
  progress.request = request;
  const checked = trade.check(request, offer);
  if (checked !== undefined) await checked;
  checkByPlugins(offer, order.capability, request);
  progress.hold = await kernel.ledger.admit(
    claimOf(order, offer, trade.worstCase(request, offer), trade.promptTokens(request)),
  );
  const output = { text: "", length: 0 };
  const tally = new Tally(() => trade.estimate(request, output, offer));
  try {
    const job = { kernel, offer, request, progress, tally, outlet: order.outlet };
    // A plugin that ignores its signal, or a reader that never comes back, does not keep a call from settling.
    const reply = await progress.untilCut(trade.serve(job, output));
    progress.trying?.health.answered();
    return reply;
  } catch (error) {
    const told = ended(blame(error, progress), progress);
    if (noteLateFailure(error, progress, kernel.now())) kernel.log.warn("circuit_opened", { call: progress.id });
    if (told.code === "internal_error") kernel.log.error("call_failed", { call: progress.id, error });
    throw told;
  } finally {
    progress.unlimit(kernel.network.deadlines);
    if (progress.status !== 200 || progress.attempts > 1) progress.abandon();
    await settle(kernel, offer, progress, tally);
  }
}

/** Refuses what no route of the offer could ask its provider. A check that fails in another way says nothing. */
function checkByPlugins(offer: Offer, capability: Capability, request: unknown): void {
  let refusal: GatewayError | undefined;
  for (const { plugin, model } of offer.routes) {
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

function claimOf<C extends Capability>(order: Order<C>, offer: Offer, worst: Meters, limitTokens: number): Claim {
  const { model, tariff } = offer;
  const cost = tariff === undefined || !model.premium ? undefined : costNanodollars(tariff, worst);
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
    priceVersion: tariff?.version,
    openedAt: order.progress.openedAt,
  };
}

function ended(error: GatewayError, progress: Progress): GatewayError {
  progress.status = progress.cutReason === "left" ? 499 : error.status;
  progress.errorCode = progress.cutReason === "left" ? "client_left" : error.code;
  return error;
}

async function settle(kernel: Kernel, offer: Offer, progress: Progress, tally: Tally): Promise<void> {
  const { meters, source } = await tally.count().catch((error): Count => {
    kernel.log.error("estimate_failed", { call: progress.id, error });
    return { meters: tally.reported ?? {}, source: tally.reported === undefined ? "none" : "reported" };
  });
  progress.meters = meters;
  progress.usageSource = source;
  progress.costNanodollars = offer.tariff === undefined ? undefined : costNanodollars(offer.tariff, meters);
  const settlement: Settlement = {
    callId: progress.id,
    outcome: source === "none" ? "released" : "settled",
    route: progress.route,
    meters,
    usageSource: source,
    costNanodollars: progress.costNanodollars,
    quotaTokens: offer.model.premium ? 0 : quotaTokensOf(meters, offer.model),
    status: progress.status,
    errorCode: progress.errorCode,
    firstByteMs: progress.firstByteMs,
    durationMs: kernel.now() - progress.openedAt,
  };
  await kernel.ledger.settle(settlement);
}
