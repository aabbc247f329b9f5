import { type Capability, type GatewayError, UpstreamError } from "../../contract/index.ts";
import { type Attempt, ClientCall, type ExchangeAnswer, runCall } from "../../kernel/index.ts";
import { RefusedKeyError } from "../../keys/index.ts";
import { getDisplayName } from "../../provider/index.ts";
import type { CallWatch, HttpDeps } from "../deps.ts";
import { type CallRequest, type HttpCall, readClientRequestId } from "./http-call.ts";

/**
 * Step 7: runs a call, and logs how it ended.
 *
 * @throws {GatewayError} The error for the client.
 */
export async function executeCall<C extends Capability>(
  deps: HttpDeps,
  httpCall: HttpCall,
  requested: CallRequest<C>,
): Promise<ExchangeAnswer<C>> {
  const { candidates } = httpCall;
  if (candidates === undefined) throw new TypeError("The model of this request was not resolved");
  deps.endedBranches.expectOpen(httpCall);
  let request = httpCall.toRequest(requested);
  const watches: CallWatch<C>[] = [];
  for (const watcher of deps.watchers) {
    const watch = watcher(request);
    if (watch === undefined) continue;
    watches.push(watch);
    request = watch.request;
  }
  const call = new ClientCall(request);
  httpCall.execution = call;
  deps.loadShedder.startCall(httpCall.slot, httpCall.execution);
  httpCall.disableIdleTimeout();
  let answer: ExchangeAnswer<C> | undefined;
  try {
    answer = await runCall(deps.kernel, call, candidates);
    return answer;
  } finally {
    httpCall.costNanodollars = call.run?.outcome.costNanodollars;
    deps.loadShedder.endCall(httpCall.slot, httpCall.execution);
    httpCall.restoreIdleTimeout();
    for (const watch of watches) watch.ended(call, answer);
    recordEnd(deps, httpCall.execution, httpCall.httpRequest);
  }
}

const modelCharactersMax = 100;
const pathCharactersMax = 200;
const messageCharactersMax = 500;

/** Facts of a refused request. */
interface Refused {
  readonly id: string;
  readonly openedAt: number;
  readonly request: Request;
  readonly call: HttpCall | undefined;
  readonly error: GatewayError;
  readonly status: number;
}

/** Tells the request log of a request that did not become a call, if its API key is known. An admitted call has a row. */
export function recordRefusal(deps: HttpDeps, { id, openedAt, request, call, error, status }: Refused): void {
  const caller = call?.caller ?? (error instanceof RefusedKeyError ? error.key : undefined);
  if (deps.refusals === undefined || caller === undefined || call?.execution?.run?.hold !== undefined) return;
  const model = call?.model ?? call?.requestedModel;
  deps.refusals.add({
    id: call?.execution?.run?.ledgerId ?? id,
    account_id: caller.accountId,
    key_id: caller.keyId,
    opened_at: openedAt,
    endpoint: `${request.method} ${URL.parse(request.url)?.pathname.slice(0, pathCharactersMax) ?? ""}`,
    capability: call?.capability ?? null,
    model: typeof model === "string" ? toStorable(model, modelCharactersMax) : null,
    protocol: call?.capability === "chat" ? call.protocol : null,
    status,
    error_code: error.code,
    message: toStorable(error.message, messageCharactersMax),
    session: call?.session ?? null,
    tag: call?.tag ?? null,
    client_request_id: readClientRequestId(request) ?? null,
    duration_ms: call === undefined ? 0 : Math.round(deps.kernel.now() - call.startedMs),
  });
}

/** PostgreSQL stores neither null characters nor halves of surrogate pairs. */
function toStorable(text: string, charactersMax: number): string {
  return text.slice(0, charactersMax).replaceAll("\0", "").toWellFormed();
}

/** Tells metrics, traces and the operator's log of a call that has ended, whatever became of it. */
export function recordEnd(deps: HttpDeps, call: ClientCall, httpRequest: Request): void {
  deps.kernel.observer?.ended(call, httpRequest);
  const { request, run, state, warnings, failures } = call;
  // Failures of the gateway or a provider are warnings: they can then be filtered by level.
  deps.log[call.status >= 500 ? "warn" : "info"]("call", {
    call: call.id,
    client_request_id: request.clientRequestId,
    account: request.caller.accountId,
    key: request.caller.keyId,
    subject: request.caller.token?.subject,
    end_user: request.caller.token?.endUser,
    capability: request.capability,
    protocol: request.protocol,
    session: request.session,
    model: run?.model,
    model_name: run === undefined ? undefined : getDisplayName(run.modelEntry.model),
    plugin: run?.plugin,
    status: call.status,
    state,
    error: call.errorCode,
    reason: run === undefined || call.errorCode === undefined ? undefined : explain(run.attempts),
    usage: state === "refused" ? undefined : run?.outcome.meters,
    usage_source: run?.outcome.usageSource ?? "none",
    cost_nanodollars: run?.outcome.costNanodollars,
    first_byte_ms: run?.firstByteMs,
    duration_ms: deps.kernel.now() - request.startedMs,
    attempts: call.attempts,
    policies: run?.guard?.records.length ? run.guard.records : undefined,
    tried: failures.length === 0 ? undefined : failures,
    // A plugin words them, and may quote its provider: the request log has them.
    warnings: warnings.length === 0 ? undefined : warnings.length,
  });
}

/**
 * Why the provider failed, by its status and our kind of it: `acme answered 503 (overloaded)`. Its words may repeat the prompt, so
 * they are in the request log alone.
 */
function explain(attempts: readonly Attempt[]): string | undefined {
  const attempt = attempts.findLast(({ error }) => error !== undefined);
  const upstreamError = attempt?.error;
  if (attempt === undefined || !(upstreamError instanceof UpstreamError)) return undefined;
  const { status, kind } = upstreamError;
  const answered = status === undefined ? "did not answer" : `answered ${status}`;
  return `${attempt.route.plugin.name} ${answered} (${kind.replaceAll("_", " ")})`;
}
