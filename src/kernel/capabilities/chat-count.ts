/** Counts the tokens of a prompt by its provider: for clients that ask for a count, and where nothing else bounds a prompt. */
import { GatewayError, isAmount, UpstreamError } from "../../contract/index.ts";
import { withoutWords } from "../../lib/describe-error.ts";
import type { Call, PassthroughFormat } from "../../provider/index.ts";
import { askOnce, type LoneRequest } from "../ask-route.ts";
import type { ClientRequest, ModelRun } from "../call.ts";
import { toRouteError } from "../client-error.ts";
import { isOfAllRoutes, isOfKey } from "../failed-attempt.ts";
import { recordRefusedKey } from "../failover.ts";
import type { Passthrough } from "../passthrough.ts";
import { type ModelEntry, orderRoutes, pausedForMs } from "../routing/registry.ts";
import type { Kernel } from "../types.ts";

type CountHandler = "countChatTokens" | NonNullable<PassthroughFormat["countHandler"]>;

/** A count that takes longer is of less use than an estimate. */
const countMsMax = 10_000;
/** Providers call their counts estimates, so the hold covers a tenth more plus this many tokens. */
const marginTokens = 1000;

/**
 * Has a model's provider count the tokens of a request in the client's own protocol. One route is tried once. Nothing
 * is held or charged, and nothing is counted against the route, because a provider may serve calls without being able
 * to count.
 *
 * @returns `undefined` when no route counts, or the provider failed.
 * @throws {GatewayError} When the provider says what is wrong with the request.
 */
export async function countPassthrough(
  kernel: Kernel,
  request: ClientRequest,
  modelEntry: ModelEntry,
  { format, body, headers }: Passthrough,
): Promise<number | undefined> {
  if (format.countHandler === undefined) return undefined;
  return await ask(kernel, request, modelEntry, { name: format.countHandler, counted: { body, headers } });
}

/**
 * Has the provider count the tokens of a prompt that only the model's context bounds. The request is made outside of
 * the call, and continues if the call is cut.
 *
 * @returns At least the tokens that the provider bills; `undefined` when no route counts, or the provider failed.
 */
export async function countPrompt(kernel: Kernel, run: ModelRun<"chat">): Promise<number | undefined> {
  const { request, passthrough, modelEntry } = run;
  const isPassed = passthrough !== undefined && modelEntry.routes.some((route) => passthrough.isServedBy(route));
  // A count of what a legacy request is translated into would miss its functions.
  if (!isPassed && (request.functions || request.messages.some(({ role }) => role === "function"))) return undefined;
  const { memory: _, signal: __, ...counting } = run.call.request;
  try {
    const tokens = isPassed
      ? await countPassthrough(kernel, counting, modelEntry, passthrough)
      : await ask(kernel, counting, modelEntry, { name: "countChatTokens", counted: request });
    return tokens === undefined ? undefined : Math.ceil((tokens * 11) / 10) + marginTokens;
  } catch (error) {
    // The call itself reports an invalid request.
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
  { id, caller, memory }: ClientRequest,
  { model, routes }: ModelEntry,
  { name, counted }: CountTask,
): Promise<number | undefined> {
  const { network, now, random = Math.random } = kernel;
  const { accountId } = caller;
  const route = orderRoutes(routes, now(), random, accountId).find(({ plugin }) => plugin.handlers[name] !== undefined);
  // A route that is paused is not asked for a count either.
  if (route === undefined || pausedForMs(route, now(), accountId) > 0) return undefined;
  const key = route.keys.take(now());
  const lone: LoneRequest = {
    id,
    owner: accountId,
    route,
    key,
    memory,
    request: counted,
    answerSource: "answer",
    msMax: countMsMax,
  };
  try {
    const tokens = await askOnce(network, lone, ({ handlers }, call) => {
      const count = handlers[name] as TokenCounter;
      return count.call(handlers, call);
    });
    key?.circuitBreaker.onSuccess();
    return isAmount(tokens) ? tokens : undefined;
  } catch (error) {
    if (error instanceof UpstreamError && isOfKey(error)) {
      route.circuitBreaker.onSuccess(accountId);
      recordRefusedKey(kernel, route, key, error);
    } else key?.circuitBreaker.onSuccess();
    if (error instanceof GatewayError || (error instanceof UpstreamError && isOfAllRoutes(error))) {
      throw toRouteError(error, { model, route });
    }
    kernel.log.warn("count_failed", { call: id, model: model.id, error: withoutWords(error) });
    return undefined;
  }
}

type TokenCounter = (call: Call<unknown>) => Promise<number>;
