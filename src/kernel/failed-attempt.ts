/**
 * Judges a failed attempt: what the failure is counted against, and what the call does next. One rule bounds it: a request
 * that was sent whole is sent again only after the provider refused it, because a provider that is silent or broke off may
 * still be working on it and would bill it twice. Nothing here has an effect: `failover.ts` does what is decided.
 */
import { GatewayError, UpstreamError, type UpstreamErrorKind } from "../contract/index.ts";

/** Facts about a failed attempt that its error does not say. */
export interface AttemptFacts {
  /** The call was cancelled, or its client has left. */
  readonly isCallOver: boolean;
  /** The plugin sent its provider a request, so a later failure can be an error of the provider. */
  readonly wasAsked: boolean;
  /** The provider may have received a request, and has not refused it. */
  readonly wasSent: boolean;
  /** The provider served a request of the attempt: a part of what the client asked for is paid. */
  readonly hasServed: boolean;
  /** The attempt had a key, so another key may work. */
  readonly hasKey: boolean;
  /** The model has this route only, no other model follows, and the route was not asked again yet. */
  readonly mayAskAgain: boolean;
}

/**
 * A failure is counted against its culprit.
 *
 * - `nothing`: the call ended, or the gateway itself refused it.
 * - `request`: every route would answer the same; the route and its key work.
 * - `plugin`: the plugin failed before it asked its provider.
 * - `answer`: the plugin failed at its provider's answer, which counts against the plugin and the route.
 * - `key`: the provider refuses the key; the route works.
 * - `route`: the provider failed.
 */
export type Culprit = "nothing" | "request" | "plugin" | "answer" | "key" | "route";

/** The next step of a call after a failed attempt; `again` repeats the request to the same route after a pause. */
export type NextStep = "throw" | "nextKey" | "nextRoute" | "again";

export interface Decision {
  readonly culprit: Culprit;
  readonly next: NextStep;
}

/** Decides what follows a failed attempt. Anything but an `UpstreamError` or a `GatewayError` is a failure of the plugin. */
export function decide(error: unknown, facts: AttemptFacts): Decision {
  const { isCallOver, wasAsked, wasSent, hasServed, hasKey, mayAskAgain } = facts;
  if (isCallOver || error instanceof GatewayError) return { culprit: "nothing", next: "throw" };
  if (!(error instanceof UpstreamError)) {
    if (!wasAsked) return { culprit: "plugin", next: "nextRoute" };
    return { culprit: "answer", next: wasSent || hasServed ? "throw" : "nextRoute" };
  }
  if (isOfKey(error)) {
    if (hasServed) return { culprit: "key", next: "throw" };
    return { culprit: "key", next: hasKey ? "nextKey" : "nextRoute" };
  }
  if (isOfAllRoutes(error)) return { culprit: "request", next: "throw" };
  if (hasServed || !maySendAgain(error, wasSent)) return { culprit: "route", next: "throw" };
  return { culprit: "route", next: mayAskAgain && isOfRoute(error) ? "again" : "nextRoute" };
}

/**
 * Whether the request may be sent again, to this route or another. After a timeout or a broken answer the provider may
 * still be working on it and would bill it, so it may not; it may when no provider has received it, or when the provider
 * answered by an error that it did not serve it.
 */
export function maySendAgain({ kind, status }: UpstreamError, wasSent: boolean): boolean {
  if (!wasSent) return true;
  if (kind === "timeout") return false;
  return kind !== "bad_response" || (status !== undefined && status >= 300);
}

/** Whether another key may work. */
export function isOfKey({ kind }: UpstreamError): boolean {
  return kind === "auth" || kind === "insufficient_quota" || kind === "rate_limited";
}

/** Whether every route would return the same. */
export function isOfAllRoutes({ kind }: UpstreamError): boolean {
  return kind === "bad_request" || kind === "context_length";
}

const kindsOfRoute: ReadonlySet<UpstreamErrorKind> = new Set(["overloaded", "server_error", "bad_response", "timeout"]);

/** Whether the provider itself failed, as it may not for a later request. */
export function isOfRoute({ kind }: UpstreamError): boolean {
  return kindsOfRoute.has(kind);
}
