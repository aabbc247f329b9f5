import { type Call, GatewayError, isAmount, type PassthroughFormat, UpstreamFault } from "../../contract/index.ts";
import { CallContext } from "../call-context.ts";
import { toClientError } from "../errors.ts";
import type { Passthrough } from "../passthrough.ts";
import { recordRefusedKey } from "../routing/failures.ts";
import { orderRoutes } from "../routing/registry.ts";
import type { Kernel } from "../types.ts";
import { BoundUpstream } from "../upstream/upstream.ts";

type CountHandler = "countChatTokens" | PassthroughFormat["countHandler"];

/** A count that takes longer is of less use than an estimate. */
const countMsMax = 10_000;
/** Providers call their counts estimates: what is held covers a tenth and so much more. */
const marginTokens = 1000;

/**
 * Asks the provider of a model for the tokens of a request in a protocol of the client's. One route is asked once: nothing
 * is held or charged, and nothing is counted against the route, because a provider may serve calls without being able to
 * count.
 *
 * @returns `undefined` when no route counts, or the provider failed.
 * @throws {GatewayError} When the provider says what is wrong with the request.
 */
export function countPassthrough(
  kernel: Kernel,
  call: CallContext,
  { format, body, headers }: Passthrough,
): Promise<number | undefined> {
  return ask(kernel, call, format.countHandler, { body, headers });
}

/**
 * Asks the provider for the tokens of a prompt of which only the model's context is a bound. It is asked within a call of its
 * own, which goes on when that of the caller is cut.
 *
 * @returns What is sure to cover what the provider bills; `undefined` when no route counts, or the provider failed.
 */
export async function countPrompt(kernel: Kernel, call: CallContext<"chat">): Promise<number | undefined> {
  const { request, passthrough, modelEntry } = call;
  const isPassed = passthrough !== undefined && modelEntry.routes.some(({ plugin }) => passthrough.isServedBy(plugin));
  // A count of what a legacy request is translated into would miss its functions.
  if (!isPassed && (request.functions || request.messages.some(({ role }) => role === "function"))) return undefined;
  const counting = new CallContext(call.id, call.openedAt, call.caller, kernel.now()).setRequest("chat", request);
  counting.modelEntry = modelEntry;
  counting.model = call.model;
  counting.passthrough = passthrough;
  try {
    const tokens = isPassed
      ? await countPassthrough(kernel, counting, passthrough)
      : await ask(kernel, counting, "countChatTokens", request);
    return tokens === undefined ? undefined : Math.ceil((tokens * 11) / 10) + marginTokens;
  } catch (error) {
    // What is wrong with the request is told by the call itself.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

async function ask(
  kernel: Kernel,
  call: CallContext,
  name: CountHandler,
  request: unknown,
): Promise<number | undefined> {
  const { network, now, random = Math.random } = kernel;
  const routes = orderRoutes(call.modelEntry.routes, now(), random, call.caller.accountId);
  const route = routes.find(({ plugin }) => plugin.handlers[name] !== undefined);
  const handler = route?.plugin.handlers[name]?.bind(route.plugin.handlers) as Count | undefined;
  if (route === undefined || handler === undefined) return undefined;
  const key = route.keys.take(now());
  call.currentRoute = route;
  call.setDeadline(network.timeouts, now() + countMsMax);
  try {
    const { model } = route;
    const { id, signal } = call;
    const upstream = new BoundUpstream(network, route, key?.credential, call);
    const warn = (sentence: string) => call.warn(sentence);
    const tokens = await call.untilCancelled(handler({ id, request, model, signal, upstream, warn }));
    key?.circuitBreaker.onSuccess();
    return isAmount(tokens) ? tokens : undefined;
  } catch (error) {
    const kind = error instanceof UpstreamFault ? error.kind : undefined;
    const isOfKey = kind === "auth" || kind === "insufficient_quota" || kind === "rate_limited";
    if (isOfKey) {
      route.circuitBreaker.onSuccess(call.caller.accountId);
      recordRefusedKey(kernel, route, key, error as UpstreamFault);
    } else key?.circuitBreaker.onSuccess();
    if (error instanceof GatewayError || kind === "bad_request" || kind === "context_length") {
      throw toClientError(error, call);
    }
    kernel.log.warn("count_failed", { call: call.id, model: call.model, error });
    return undefined;
  } finally {
    call.clearDeadline(network.timeouts);
    call.abort();
  }
}

type Count = (call: Call<unknown>) => Promise<number>;
