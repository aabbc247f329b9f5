import { GatewayError, UpstreamFault } from "../contract/index.ts";
import type { CallContext, FailedAttempt } from "./call-context.ts";
import type { Route } from "./routing/registry.ts";

const messageCharactersMax = 500;

/** What the request log tells of a call beside its columns, as it is stored. What is absent did not happen. */
export interface CallDetail {
  readonly stream?: true | undefined;
  /** The finish reason of each choice. */
  readonly finish?: readonly string[] | undefined;
  /** The sentence that the caller was given. */
  readonly error?: string | undefined;
  readonly attempts?: readonly FailedAttempt[] | undefined;
  /** Request fields that were left out, and those that were lowered. */
  readonly ignored?: readonly string[] | undefined;
  readonly lowered?: Readonly<Record<string, number>> | undefined;
  readonly warnings?: readonly string[] | undefined;
  /** Whose token (JWT) the caller had, by the claim `sub`, and which of their customers they called for. */
  readonly subject?: string | undefined;
  readonly end_user?: string | undefined;
}

/** JSON of the call's {@link CallDetail}; undefined when there is nothing to tell. Read when the call is settled. */
export function formatCallDetail(call: CallContext): string | undefined {
  const { caller, sink, finishReasons, errorMessage, failedAttempts, ignored, lowered, warnings } = call;
  const detail: CallDetail = {
    stream: sink === undefined ? undefined : true,
    finish: finishReasons?.length ? finishReasons : undefined,
    error: errorMessage?.slice(0, messageCharactersMax),
    attempts: failedAttempts,
    ignored: ignored.size === 0 ? undefined : [...ignored],
    lowered,
    warnings: warnings.length === 0 ? undefined : warnings,
    subject: caller.token?.subject,
    end_user: caller.token?.endUser,
  };
  const text = JSON.stringify(detail);
  return text === "{}" ? undefined : text;
}

/** Keeps a failed attempt for the request log, without the keys that a provider repeats. */
export function recordFailedAttempt(
  call: CallContext,
  { route, error, durationMs }: { route: Route; error: unknown; durationMs: number },
): void {
  const isFault = error instanceof UpstreamFault;
  call.failedAttempts ??= [];
  call.failedAttempts.push({
    route: route.plugin.name,
    duration_ms: Math.round(durationMs),
    error: isFault ? error.kind : error instanceof GatewayError ? error.code : "plugin_failed",
    status: isFault ? error.status : undefined,
    message:
      isFault || error instanceof GatewayError
        ? route.keys.hide((isFault ? error.providerMessage : undefined) ?? error.message).slice(0, messageCharactersMax)
        : "The plugin failed; the log has its error",
  });
}
