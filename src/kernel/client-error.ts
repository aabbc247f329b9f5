/**
 * The error that a caller sees when a call failed. A provider's own words are shown as such, with its name; what it says about
 * the gateway's keys is replaced, and a key that it repeats is hidden.
 */
import { GatewayError, UpstreamError } from "../contract/index.ts";
import type { Model } from "../provider/index.ts";
import type { ModelRun } from "./call.ts";
import type { Route } from "./routing/registry.ts";

/** The failure of the last model, with what became of those before it. */
export function withEarlierFailures({ call }: ModelRun, error: GatewayError): GatewayError {
  const { failures } = call;
  if (failures.length === 0) return error;
  const before = failures.map((failure) => `'${failure.model}' (${failure.code})`).join(", ");
  const { code, message, param, publicCode, retryAfterMs, limit, budget, cause } = error;
  const fullMessage = `${message} (also tried: ${before})`;
  return new GatewayError(code, fullMessage, { param, publicCode, retryAfterMs, limit, budget, cause });
}

/** The error that the caller sees. What a provider says about our keys is replaced, and a key that it repeats is hidden. */
export function toClientError(thrown: unknown, run: ModelRun): GatewayError {
  return hideKeys(toGatewayError(thrown, run), run.attempt?.route, thrown);
}

/** The error that the caller sees when a request to a route outside of a call fails. */
export function toRouteError(thrown: GatewayError | UpstreamError, place: FailurePlace): GatewayError {
  const error = thrown instanceof GatewayError ? thrown : fromUpstreamError(thrown, place);
  return hideKeys(error, place.route, thrown);
}

function hideKeys(error: GatewayError, route: Route | undefined, cause: unknown): GatewayError {
  if (route === undefined) return error;
  const { keys } = route;
  const { code, retryAfterMs } = error;
  const [message, publicCode] = [keys.hide(error.message), keys.hide(error.publicCode)];
  const param = error.param === undefined ? undefined : keys.hide(error.param);
  if (message === error.message && publicCode === error.publicCode && param === error.param) return error;
  return new GatewayError(code, message, { param, publicCode, retryAfterMs, cause });
}

function toGatewayError(error: unknown, run: ModelRun): GatewayError {
  const { cancelReason, cancelError } = run.call;
  if (cancelReason === "hold_refused" && cancelError !== undefined) return cancelError;
  if (cancelReason === "client_disconnected") {
    return new GatewayError("invalid_request", "The client disconnected", { cause: error });
  }
  if (cancelReason === "draining") {
    const message = "The gateway is shutting down and ended this call; send it again";
    return new GatewayError("unavailable", message, { retryAfterMs: 1000, cause: error });
  }
  if (cancelReason === "timeout") {
    const message = nameProvider(
      "The provider did not answer in the time allowed; send the request again",
      placeOf(run),
    );
    return new GatewayError("upstream_timeout", message, { cause: error });
  }
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamError) return fromUpstreamError(error, placeOf(run));
  const message = "Internal error. Operators: see the log entry for this x-request-id";
  return new GatewayError("internal_error", message, { cause: error });
}

/**
 * A provider's complaint about too many tokens, begun by OpenAI's message: clients know the error by it, and compress the
 * conversation or take another model.
 */
function contextMessage({ message, contextFigures }: UpstreamError, { model }: FailurePlace): string {
  const { prompt, answer, max = model.contextTokens ?? model.inputTokensMax } = contextFigures;
  if (max === undefined || message.startsWith("This model's maximum context length")) return message;
  const head = `This model's maximum context length is ${max} tokens.`;
  if (prompt === undefined) return `${head} ${message}`;
  if (answer === undefined) return `${head} However, your messages resulted in ${prompt} tokens. ${message}`;
  const parts = `(${prompt} in the messages, ${answer} in the completion)`;
  return `${head} However, you requested ${prompt + answer} tokens ${parts}. ${message}`;
}

/** Where a provider failed. */
interface FailurePlace {
  readonly model: Model;
  /** Absent where no route was tried. */
  readonly route: Route | undefined;
}

function placeOf({ modelEntry, attempt }: ModelRun): FailurePlace {
  return { model: modelEntry.model, route: attempt?.route };
}

/** The beginnings of the gateway's own messages about a provider. */
const ownMessage = /^(?:(?:The connection|Cannot connect|Timed out connecting) to t|T)he provider\b/;

/** One of the gateway's own messages, with the name of the provider that was tried. */
function nameProvider(message: string, { route }: FailurePlace): string {
  const name = route?.plugin.name;
  return name === undefined ? message : message.replace(/\bthe provider\b/i, name);
}

/** Describes a failure of a provider and names the provider: its message alone would read as one of the gateway. */
function describeFailure({ message, status }: UpstreamError, place: FailurePlace): string {
  if (ownMessage.test(message)) return nameProvider(message, place);
  const answered = status === undefined ? "" : ` (${status})`;
  return `${place.route?.plugin.name ?? "The provider"} failed${answered}: ${message}`;
}

function fromUpstreamError(error: UpstreamError, place: FailurePlace): GatewayError {
  const details = { param: error.param, cause: error };
  switch (error.kind) {
    case "bad_request":
      return new GatewayError("invalid_request", error.message, { ...details, publicCode: error.code });
    case "context_length":
      return new GatewayError("context_length_exceeded", contextMessage(error, place), details);
    case "request_too_large":
      return new GatewayError("request_too_large", error.message, details);
    case "model_not_found": {
      const message = nameProvider(`The provider no longer serves this model: ${error.message}`, place);
      return new GatewayError("model_not_found", message, { ...details, param: "model" });
    }
    case "rate_limited": {
      const message = nameProvider(
        "The provider's rate limit is reached and no other route is free; retry later",
        place,
      );
      const retryAfterMs = error.retryAfterMs === undefined ? 1000 : error.retryAfterMs;
      return new GatewayError("rate_limit_exceeded", message, { ...details, retryAfterMs });
    }
    case "auth":
    case "insufficient_quota": {
      const message = "The provider rejected the gateway's credentials, account or location; contact the operator";
      return new GatewayError("upstream_error", nameProvider(message, place), { cause: error });
    }
    case "timeout":
      return new GatewayError("upstream_timeout", describeFailure(error, place), details);
    case "overloaded":
    case "server_error":
    case "bad_response":
      return new GatewayError("upstream_error", describeFailure(error, place), details);
  }
}
