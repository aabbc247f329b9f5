import { GatewayError, UpstreamFault } from "../contract/index.ts";
import type { ModelRun } from "./call.ts";

/** The error that the caller sees. What a provider says about our keys is replaced, and a key that it repeats is hidden. */
export function toClientError(thrown: unknown, run: ModelRun): GatewayError {
  const error = toGatewayError(thrown, run);
  const keys = run.attempt?.route.keys;
  if (keys === undefined) return error;
  const { code, retryAfterMs } = error;
  const [message, publicCode] = [keys.hide(error.message), keys.hide(error.publicCode)];
  const param = error.param === undefined ? undefined : keys.hide(error.param);
  if (message === error.message && publicCode === error.publicCode && param === error.param) return error;
  return new GatewayError(code, message, { param, publicCode, retryAfterMs, cause: thrown });
}

function toGatewayError(error: unknown, run: ModelRun): GatewayError {
  const { cancelReason, cancelError } = run.call;
  if (cancelReason === "hold_refused" && cancelError !== undefined) return cancelError;
  if (cancelReason === "client_disconnected") {
    return new GatewayError("invalid_request", "The client disconnected", { cause: error });
  }
  if (cancelReason === "draining") {
    const sentence = "The gateway is shutting down and ended this call; send it again";
    return new GatewayError("unavailable", sentence, { retryAfterMs: 1000, cause: error });
  }
  if (cancelReason === "timeout") {
    const sentence = "The provider did not answer in the time allowed; send the request again";
    return new GatewayError("upstream_timeout", sentence, { cause: error });
  }
  if (error instanceof GatewayError) return error;
  if (error instanceof UpstreamFault) return fromFault(error, run);
  const sentence = "The gateway failed on this call; the operator finds the reason in the log under its x-request-id";
  return new GatewayError("internal_error", sentence, { cause: error });
}

/**
 * A provider's complaint about too many tokens, begun by OpenAI's sentence: clients know the error by it, and compress the
 * conversation or take another model.
 */
function contextSentence({ message }: UpstreamFault, { modelEntry: { model } }: ModelRun): string {
  const tokensMax = model.contextTokens ?? model.inputTokensMax;
  if (tokensMax === undefined || message.startsWith("This model's maximum context length")) return message;
  const figures = (message.match(/\d{3,12}/g) ?? []).map(Number);
  const tokens = Math.max(...figures.filter((figure) => figure > tokensMax));
  const resulted = Number.isFinite(tokens) ? ` However, your messages resulted in ${tokens} tokens.` : "";
  return `This model's maximum context length is ${tokensMax} tokens.${resulted} ${message}`;
}

function fromFault(fault: UpstreamFault, run: ModelRun): GatewayError {
  const details = { param: fault.param, cause: fault };
  switch (fault.kind) {
    case "bad_request":
      return new GatewayError("invalid_request", fault.message, { ...details, publicCode: fault.code });
    case "context_length":
      return new GatewayError("context_length_exceeded", contextSentence(fault, run), details);
    case "request_too_large":
      return new GatewayError("request_too_large", fault.message, details);
    case "model_not_found": {
      const sentence = `The provider no longer serves this model: ${fault.message}`;
      return new GatewayError("model_not_found", sentence, { ...details, param: "model" });
    }
    case "rate_limited": {
      const sentence = "The provider's rate limit is reached and no other route is free; retry later";
      const retryAfterMs = fault.retryAfterMs === undefined ? 1000 : fault.retryAfterMs;
      return new GatewayError("rate_limit_exceeded", sentence, { ...details, retryAfterMs });
    }
    case "auth":
    case "insufficient_quota":
      return new GatewayError(
        "upstream_error",
        "The provider refused the gateway's credential, account or location; the operator was told",
        { cause: fault },
      );
    case "timeout":
      return new GatewayError("upstream_timeout", fault.message, details);
    case "overloaded":
    case "bad_response":
      return new GatewayError("upstream_error", fault.message, details);
  }
}
