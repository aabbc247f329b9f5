import {
  type Capability,
  type MeterName,
  type Meters,
  outputMeters,
  promptMeters,
  sumOutputTokens,
  sumPromptTokens,
  UpstreamFault,
} from "../contract/index.ts";
import type { CallContext } from "./call-context.ts";
import { contextTokensDefault, getContextTokensMax } from "./normalize/prompt-bounds.ts";
import { addMeters, type ServedUsage, UsageMeter } from "./normalize/usage.ts";
import type { CapabilityHandler, Kernel } from "./types.ts";

/** The most tokens of a picture, or of speech, of a model that does not say. */
const mediaTokensDefault = 32_768;
/** A limit of the output is not kept to the token: the mark of its end may count, or what was begun. */
const limitMargin = { share: 1.1, tokens: 64 };
const audioMsDefault = 14_400_000;
const limitNames = ["max_tokens", "max_completion_tokens"];

/** What counts the usage of a call: by its answer, and by what was served of it whatever became of the answer. */
export function createUsageMeter<C extends Capability>(
  kernel: Kernel,
  call: CallContext<C>,
  handler: CapabilityHandler<C>,
): UsageMeter {
  return new UsageMeter(() => handler.estimate(call, kernel), {
    hasSeveral: () => call.sent.size > 1,
    served: () => sumServed(call, handler),
    bound: (meters) => boundReport(call, meters),
  });
}

/**
 * What a failed call owes: an answer that came and is no refusal, and what was sent where the call was cut by its client or
 * by the gateway, because the provider goes on and bills it.
 */
export function recordOwed(kernel: Kernel, call: CallContext, error: unknown, isUnpaid: boolean): void {
  const isTimeout = error instanceof UpstreamFault && error.kind === "timeout";
  if (isUnpaid || isTimeout || call.clientLeft || call.cancelReason !== undefined) {
    call.cutAfterMs = kernel.now() - call.sentMs;
  }
  if (call.owedRequests.length > 0) call.usageMeter.produced = true;
}

function sumServed<C extends Capability>(call: CallContext<C>, handler: CapabilityHandler<C>): ServedUsage {
  const requests = call.owedRequests;
  let meters: Meters | undefined;
  let [open, cut] = [0, 0];
  for (const { usage, isWhole } of requests) {
    const report = usage === undefined ? undefined : handler.toReport(call, usage);
    if (report === undefined) {
      open++;
      if (!isWhole) cut++;
    } else meters = addMeters(meters ?? {}, report);
  }
  return { requests: requests.length, open, cut, meters };
}

/**
 * What is charged for a report that is more than the call can have used: of the prompt more than the model's context for each
 * request, of the output more than its limit. The rest of the report is believed.
 */
function boundReport(call: CallContext, meters: Meters): Meters | undefined {
  const { upper = {}, sent, capability } = call;
  const { model } = call.modelEntry;
  const requests = Math.max(1, sent.size);
  const context = (getContextTokensMax(model) ?? contextTokensDefault) * requests;
  const limit = (model.outputTokensMax ?? mediaTokensDefault) * requests;
  const outputMax = (sumOutputTokens(upper) ?? 0) * limitMargin.share + limitMargin.tokens;
  // A limit that the provider was not sent bounds nothing.
  const isLimited = capability === "chat" && !limitNames.some((name) => call.ignored.has(name));
  const isOver: [readonly MeterName[], boolean][] = [
    [promptMeters, sumPromptTokens(meters) > Math.max(context, sumPromptTokens(upper))],
    [
      outputMeters,
      (sumOutputTokens(meters) ?? 0) > (isLimited ? outputMax : Math.max(outputMax, limit)) ||
        (meters.audioMs ?? 0) > Math.max(upper.audioMs ?? 0, model.audioMsMax ?? audioMsDefault),
    ],
  ];
  if (!isOver.some(([, over]) => over)) return undefined;
  const bounded: Meters = { ...meters };
  for (const [names, over] of isOver) {
    if (!over) continue;
    for (const name of names) {
      delete bounded[name];
      if (upper[name] !== undefined) bounded[name] = upper[name];
    }
  }
  return bounded;
}
