import {
  type Capability,
  type ErrorCode,
  GatewayError,
  isEnded,
  membersMax,
  UpstreamFault,
} from "../contract/index.ts";
import type { CallContext } from "./call-context.ts";
import type { AnswerOf } from "./exchange.ts";
import { isOverlong, maySendAgain } from "./routing/failures.ts";
import { type Candidate, type Candidates, isReady } from "./routing/registry.ts";
import { ownerOf } from "./routing/stickiness.ts";
import type { FindOptions } from "./routing/succession.ts";
import { orderMembers, type VirtualModel } from "./routing/virtual-models.ts";
import { nextTurn } from "./streaming.ts";
import type { Kernel } from "./types.ts";

/** What of a call decides its candidates. */
interface CandidateOptions extends FindOptions {
  readonly asked: readonly string[] | undefined;
  readonly session: string | undefined;
  readonly sink?: unknown;
}

/** How one model is tried. */
type RunModel = <C extends Capability>(
  kernel: Kernel,
  call: CallContext<C>,
  candidate: Candidate,
) => Promise<AnswerOf<C>>;

/**
 * The models that may serve a request, the first to be tried first: the one of its name, the members of a virtual model,
 * or those of a list of names. Models whose routes are all paused come last.
 *
 * @throws {GatewayError} `model_not_found` or `model_not_allowed`, for a list also when one of its names is at fault.
 */
export function findCandidates(
  kernel: Kernel,
  name: string,
  options: CandidateOptions,
  isStream = options.sink !== undefined,
): Candidates {
  const { registry } = kernel;
  const { asked } = options;
  if (asked === undefined && !registry.virtualModels.has(name)) {
    return [{ name, modelEntry: registry.find(name, options) }];
  }
  const found = new Map<string, Candidate>();
  let refusal: unknown;
  for (const each of asked ?? [name]) {
    const virtual = registry.virtualModels.get(each);
    const names = virtual === undefined ? [each] : order(kernel, virtual, options, isStream);
    for (const member of names) {
      try {
        const modelEntry = registry.find(member, { ...options, virtual: virtual?.id });
        const speeds = virtual?.strategy === "fastest" ? virtual.speeds : undefined;
        if (!found.has(modelEntry.model.id)) found.set(modelEntry.model.id, { name: member, modelEntry, speeds });
      } catch (error) {
        const known = registry.byName(member);
        if (virtual === undefined && !(known && isEnded(known.model, options.openedAt))) throw error;
        refusal ??= error;
      }
    }
  }
  const [first, ...others] = [...found.values()].slice(0, membersMax);
  if (first === undefined) throw refusal;
  const nowMs = kernel.now();
  const paused = ({ modelEntry }: Candidate) =>
    Number(!modelEntry.routes.some((route) => isReady(route, nowMs, options.caller.accountId)));
  return [first, ...others].sort((a, b) => paused(a) - paused(b)) as [Candidate, ...Candidate[]];
}

function order(kernel: Kernel, virtual: VirtualModel, { session, caller }: CandidateOptions, isStream: boolean) {
  const { now, random = Math.random } = kernel;
  return orderMembers(virtual, { nowMs: now(), isStream, owner: ownerOf({ session, caller }), random });
}

/**
 * Tries models one after the other until one serves the call. Each is held, charged and recorded on its own, so that a
 * model that did not serve costs nothing. Another one follows only while nothing has come out, and only after a failure
 * that it may not have.
 *
 * @throws {GatewayError} The failure of the last one, with what became of those before it.
 */
export async function runCandidates<C extends Capability>(
  kernel: Kernel,
  call: CallContext<C>,
  runModel: RunModel,
): Promise<AnswerOf<C>> {
  const { request, candidates = [] } = call;
  for (const [index, candidate] of candidates.entries()) {
    // Each looks through the whole request, which for a large one is as much as a turn of the event loop may take.
    if (index > 0) await nextTurn();
    const startedMs = kernel.now();
    const isStream = call.sink !== undefined;
    const record = (ms: number) => candidate.speeds?.record(candidate.name, ms, { nowMs: kernel.now(), isStream });
    try {
      const answer = await runModel(kernel, call, candidate);
      record(call.startedMs + (call.firstByteMs ?? kernel.now() - call.startedMs) - startedMs);
      return answer;
    } catch (error) {
      // What a caller can cause says nothing about a model's speed.
      if (call.hold !== undefined && isOfProvider(error) && !isOverlong(call)) record(Number.POSITIVE_INFINITY);
      if (!(error instanceof GatewayError)) throw error;
      if (index === candidates.length - 1 || !mayFallBack(call, error)) throw withEarlierFailures(call, error);
      const model = candidate.modelEntry.model.id;
      kernel.log.warn("model_fallback", { call: call.id, ledger_id: call.ledgerId, model, error: error.code });
      call.failures.push({ model, code: error.code });
      prepareForNext(call, request);
    }
  }
  throw new TypeError("There is no model to try");
}

/** What another model may not have, if it came before the hold, and if it came from a provider. */
const beforeHold: ReadonlySet<ErrorCode> = new Set([
  "invalid_request",
  "model_not_found",
  "context_length_exceeded",
  "request_too_large",
  "quota_exceeded",
  "insufficient_balance",
  "budget_exceeded",
]);
const ofProvider: ReadonlySet<ErrorCode> = new Set([
  "model_not_found",
  "context_length_exceeded",
  "request_too_large",
  "rate_limit_exceeded",
  "upstream_error",
  "upstream_timeout",
]);

function isOfProvider(error: unknown): boolean {
  if (!(error instanceof GatewayError) || (error.cause instanceof UpstreamFault && error.cause.isOfRequest))
    return false;
  return /^(upstream_error|upstream_timeout|rate_limit_exceeded)$/.test(error.code);
}

/** Before the hold `invalid_request` is about this model: the shape of the request was checked before. */
function mayFallBack(call: CallContext, { code, cause }: GatewayError): boolean {
  if (call.cancelReason !== undefined || call.clientLeft || call.route !== undefined) return false;
  if (call.hold === undefined) return beforeHold.has(code);
  // A plugin that could not make its request of this one: another model's may.
  if (code === "internal_error") return call.currentRoute !== undefined && call.sent.size === 0;
  if (!ofProvider.has(code)) return false;
  // What was served is paid, whatever its provider says of it, and would be again.
  if ([...call.sent].some(({ isAnswered }) => isAnswered)) return false;
  return !(cause instanceof UpstreamFault) || maySendAgain(cause, call.sent.size > 0);
}

/** Nothing of a model that was tried in vain is left for the next one. */
function prepareForNext<C extends Capability>(call: CallContext<C>, request: CallContext<C>["request"]): void {
  call.resetSignal();
  call.request = request;
  call.hold = undefined;
  call.growingHold = undefined;
  call.lowered = undefined;
  call.upper = undefined;
  call.countedTokensMax = undefined;
  call.servedTier = undefined;
  call.currentRoute = undefined;
  call.attemptsBefore = call.attempts;
  call.sent.clear();
  call.cutAfterMs = undefined;
  call.isOpenEnded = false;
  call.status = 200;
  call.errorCode = undefined;
  call.errorMessage = undefined;
  call.failedAttempts = undefined;
  call.firstByteMs = undefined;
  call.meters = {};
  call.usageSource = "none";
  call.costNanodollars = undefined;
}

function withEarlierFailures({ failures }: CallContext, error: GatewayError): GatewayError {
  if (failures.length === 0) return error;
  const before = failures.map(({ model, code }) => `'${model}' (${code})`).join(", ");
  const { code, message, param, publicCode, retryAfterMs, cause } = error;
  const sentence = `${message}; before it failed: ${before}`;
  return new GatewayError(code, sentence, { param, publicCode, retryAfterMs, cause });
}
