import { GatewayError, isAmount, UpstreamFault } from "../../contract/index.ts";
import type { CallContext } from "../call-context.ts";
import { toClientError } from "../errors.ts";
import type { NativeExchange } from "../native-exchange.ts";
import { recordRefusedKey } from "../routing/failures.ts";
import { orderRoutes } from "../routing/registry.ts";
import type { Kernel } from "../types.ts";
import { BoundUpstream } from "../upstream/upstream.ts";

const handlerNames = { responses: "countResponsesTokens", messages: "countMessagesTokens" } as const;
/** A count that takes longer is of less use than an estimate. */
const countMsMax = 10_000;

/**
 * Asks the provider of a model for the tokens of a request. One route is asked once: nothing is held or charged, and
 * nothing is counted against the route, because a provider may serve calls without being able to count.
 *
 * @returns `undefined` when no route counts, or the provider failed.
 * @throws {GatewayError} When the provider says what is wrong with the request.
 */
export async function countNatively(
  kernel: Kernel,
  call: CallContext,
  native: NativeExchange,
): Promise<number | undefined> {
  const { network, now, random = Math.random } = kernel;
  const name = handlerNames[native.protocol];
  const routes = orderRoutes(call.modelEntry.routes, now(), random);
  const route = routes.find(({ plugin }) => plugin.handlers[name] !== undefined);
  const handler = route?.plugin.handlers[name];
  if (route === undefined || handler === undefined) return undefined;
  const key = route.keys.take(now());
  call.currentRoute = route;
  call.setDeadline(network.timeouts, now() + countMsMax);
  try {
    const { model } = route;
    const { id, signal } = call;
    const upstream = new BoundUpstream(network, route, key?.key, call);
    const warn = (sentence: string) => call.warn(sentence);
    const tokens = await call.untilCancelled(handler({ id, request: native, model, signal, upstream, warn }));
    key?.circuitBreaker.onSuccess();
    return isAmount(tokens) ? tokens : undefined;
  } catch (error) {
    const kind = error instanceof UpstreamFault ? error.kind : undefined;
    const isOfKey = kind === "auth" || kind === "insufficient_quota" || kind === "rate_limited";
    if (isOfKey) recordRefusedKey(kernel, route, key, error as UpstreamFault);
    else key?.circuitBreaker.onSuccess();
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
