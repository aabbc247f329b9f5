import {
  GatewayError,
  isAmount,
  type PassthroughFormat,
  type Call as PluginCall,
  UpstreamFault,
} from "../../contract/index.ts";
import { Attempt, Call, type ClientRequest, ModelRun } from "../call.ts";
import { toClientError } from "../errors.ts";
import { isOfKey, recordRefusedKey } from "../failover.ts";
import { UsageMeter } from "../normalize/usage.ts";
import type { Passthrough } from "../passthrough.ts";
import { type ModelEntry, orderRoutes } from "../routing/registry.ts";
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
  request: ClientRequest,
  modelEntry: ModelEntry,
  { format, body, headers }: Passthrough,
): Promise<number | undefined> {
  return ask(kernel, request, modelEntry, { name: format.countHandler, counted: { body, headers } });
}

/**
 * Asks the provider for the tokens of a prompt of which only the model's context is a bound. It is asked within a call of its
 * own, which goes on when that of the caller is cut.
 *
 * @returns What is sure to cover what the provider bills; `undefined` when no route counts, or the provider failed.
 */
export async function countPrompt(kernel: Kernel, run: ModelRun<"chat">): Promise<number | undefined> {
  const { request, passthrough, modelEntry } = run;
  const isPassed = passthrough !== undefined && modelEntry.routes.some(({ plugin }) => passthrough.isServedBy(plugin));
  // A count of what a legacy request is translated into would miss its functions.
  if (!isPassed && (request.functions || request.messages.some(({ role }) => role === "function"))) return undefined;
  const { memory: _, signal: __, ...counting } = run.call.request;
  try {
    const tokens = isPassed
      ? await countPassthrough(kernel, counting, modelEntry, passthrough)
      : await ask(kernel, counting, modelEntry, { name: "countChatTokens", counted: request });
    return tokens === undefined ? undefined : Math.ceil((tokens * 11) / 10) + marginTokens;
  } catch (error) {
    // What is wrong with the request is told by the call itself.
    if (error instanceof GatewayError) return undefined;
    throw error;
  }
}

/** The plugin's handler that counts, and what it is given. */
interface CountTask {
  readonly name: CountHandler;
  readonly counted: unknown;
}

async function ask(
  kernel: Kernel,
  asked: ClientRequest,
  modelEntry: ModelEntry,
  { name, counted }: CountTask,
): Promise<number | undefined> {
  const { network, now, random = Math.random } = kernel;
  const { accountId } = asked.caller;
  const routes = orderRoutes(modelEntry.routes, now(), random, accountId);
  const route = routes.find(({ plugin }) => plugin.handlers[name] !== undefined);
  const handler = route?.plugin.handlers[name]?.bind(route.plugin.handlers) as Count | undefined;
  if (route === undefined || handler === undefined) return undefined;
  const key = route.keys.take(now());
  const call = new Call(asked);
  const run = new ModelRun(call, { modelEntry }, { usageMeterOf: () => new UsageMeter(async () => ({})) });
  const attempt = new Attempt(run, route, key, now());
  call.setDeadline(network.timeouts, now() + countMsMax);
  try {
    const { model } = route;
    const { signal } = attempt;
    const upstream = new BoundUpstream(network, attempt);
    const warn = () => undefined;
    const tokens = await call.untilCancelled(
      handler({ id: asked.id, request: counted, model, signal, upstream, warn }),
    );
    key?.circuitBreaker.onSuccess();
    return isAmount(tokens) ? tokens : undefined;
  } catch (error) {
    const kind = error instanceof UpstreamFault ? error.kind : undefined;
    if (error instanceof UpstreamFault && isOfKey(error)) {
      route.circuitBreaker.onSuccess(accountId);
      recordRefusedKey(kernel, route, key, error);
    } else key?.circuitBreaker.onSuccess();
    if (error instanceof GatewayError || kind === "bad_request" || kind === "context_length") {
      throw toClientError(error, run);
    }
    kernel.log.warn("count_failed", { call: asked.id, model: run.model, error });
    return undefined;
  } finally {
    call.clearDeadline(network.timeouts);
    attempt.abort();
  }
}

type Count = (call: PluginCall<unknown>) => Promise<number>;
