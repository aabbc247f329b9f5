import { ValidationError } from "elysia";
import { type Caller, GatewayError } from "../contract/index.ts";
import type { Log } from "../kernel/index.ts";
import { knownCaller } from "./authenticate.ts";
import { explain, type Fault } from "./explain.ts";
import type { HttpGround } from "./ground.ts";
import { putLimits } from "./headers.ts";
import { identify, type ResponseHeaders } from "./run.ts";

/** Whatever was thrown as the one error callers see. What has no name yet is logged in full and shown as nothing. */
export function toGatewayError(error: unknown, log: Log): GatewayError {
  if (error instanceof GatewayError) return error;
  if (error instanceof ValidationError) return explain(error.valueError as unknown as Fault);
  // Elysia wraps what its parser throws.
  if (error instanceof Error && error.cause instanceof GatewayError) return error.cause;
  log.error("unexpected", { error });
  const sentence = "The gateway failed; the operator finds the reason in the log under this answer's x-request-id";
  return new GatewayError("internal_error", sentence);
}

/** What Elysia hands an error hook, as far as it is used here. */
interface Failure {
  error: unknown;
  code: string | number;
  request: Request;
  set: { status?: number | string; headers: unknown };
}

/** The only place that makes a response of an error. */
export function answerError(ground: HttpGround, methodsOf: (path: string) => string[]) {
  return async ({ error: thrown, code, request, set }: Failure) => {
    const failure: Failure = { error: thrown, code, request, set };
    const error = code === "NOT_FOUND" ? noSuchEndpoint(failure, methodsOf) : toGatewayError(thrown, ground.log);
    const headers = failure.set.headers as ResponseHeaders;
    failure.set.status = error.status;
    if (headers["x-request-id"] === undefined) identify(ground, headers);
    if (error.retryAfterMs !== undefined) headers["retry-after"] = Math.max(1, Math.ceil(error.retryAfterMs / 1000));
    if (error.status === 401) headers["www-authenticate"] = "Bearer";
    const caller = knownCaller(failure.request);
    if (caller !== undefined) await tellLimits(ground, caller, headers);
    if (ground.sandbox) headers["x-modelgate-sandbox"] = "true";
    return Response.json(error.toBody(), { status: error.status });
  };
}

/** An error is told even where the books cannot say the limits. */
async function tellLimits(ground: HttpGround, caller: Caller, headers: ResponseHeaders): Promise<void> {
  try {
    putLimits(headers, await ground.ledger.limitsOf(caller));
  } catch (error) {
    ground.log.error("limits_unknown", { error });
  }
}

function noSuchEndpoint({ request, set }: Failure, methodsOf: (path: string) => string[]): GatewayError {
  const { pathname } = new URL(request.url);
  const methods = methodsOf(pathname);
  if (methods.length === 0) {
    return new GatewayError("not_found", `There is no endpoint ${request.method} ${pathname}`);
  }
  (set.headers as ResponseHeaders).allow = methods.join(", ");
  return new GatewayError("method_not_allowed", `${pathname} takes ${methods.join(", ")}, not ${request.method}`);
}
