import { ValueErrorType } from "@sinclair/typebox/errors";
import type { ValidationError } from "elysia";
import { type Caller, GatewayError } from "../contract/index.ts";
import { type Log, makeCallId } from "../kernel/index.ts";
import { explain, type Fault } from "./explain.ts";
import type { HttpGround } from "./ground.ts";
import { clientRequestIdOf, limitHeaders, type ResponseHeaders } from "./headers.ts";
import { badHost } from "./origin.ts";
import { dataHeaders } from "./security-headers.ts";

/** Whatever was thrown as the one error callers see. What has no name yet is logged in full and shown as nothing. */
export function toGatewayError(error: unknown, log: Log): GatewayError {
  if (error instanceof GatewayError) return error;
  log.error("unexpected", { error });
  const sentence = "The gateway failed; the operator finds the reason in the log under this answer's x-request-id";
  return new GatewayError("internal_error", sentence);
}

/** What is known of whoever gets the error. */
interface Known {
  request: Request;
  id?: string;
  caller?: Caller | undefined;
  headers?: ResponseHeaders;
  attempts?: number;
}

/** The only place that makes a response of an error. */
export async function errorResponse(ground: HttpGround, thrown: unknown, known: Known): Promise<Response> {
  const error = toGatewayError(thrown, ground.log);
  ground.kernel.watch?.refused(error.code);
  const headers: ResponseHeaders = {
    ...dataHeaders(known.request),
    ...(known.caller !== undefined && (await limitsOf(ground, known.caller))),
    ...known.headers,
    "x-request-id": known.id === undefined ? makeCallId(ground.now()) : known.id,
  };
  if (error.retryAfterMs !== undefined)
    headers["retry-after"] = String(Math.max(1, Math.ceil(error.retryAfterMs / 1000)));
  const clientRequestId = clientRequestIdOf(known.request);
  if (clientRequestId !== undefined) headers["x-client-request-id"] = clientRequestId;
  if (known.attempts) headers["x-modelgate-attempts"] = String(known.attempts);
  if (error.code === "invalid_api_key") headers["www-authenticate"] = "Bearer";
  if (ground.sandbox) headers["x-modelgate-sandbox"] = "true";
  if (ground.gate.isLeaving) headers.connection = "close";
  return Response.json(error.toBody(), { status: error.status, headers });
}

/** An error is told even where the books cannot say the limits. */
async function limitsOf(ground: HttpGround, caller: Caller): Promise<ResponseHeaders> {
  try {
    return limitHeaders(await ground.ledger.limitsOf(caller));
  } catch (error) {
    ground.log.error("limits_unknown", { error });
    return {};
  }
}

/** What Elysia hands an error hook, as far as it is used here. */
interface Failure {
  error: unknown;
  code: string | number;
  request: Request;
}

/** For what fails outside an endpoint: an unknown path or method. */
export function answerFailure(ground: HttpGround, methodsOf: (path: string) => string[]) {
  return async ({ error, code, request }: Failure): Promise<Response> => {
    if (code === "VALIDATION") return errorResponse(ground, explainValidation(error as ValidationError), { request });
    if (code === "PARSE") return errorResponse(ground, causeOf(error), { request });
    if (code !== "NOT_FOUND") return errorResponse(ground, error, { request });
    const url = URL.parse(request.url);
    if (url === null) return errorResponse(ground, badHost(), { request });
    const { pathname } = url;
    const methods = methodsOf(pathname);
    if (methods.length === 0) {
      const sentence = `There is no endpoint ${request.method} ${pathname}`;
      return errorResponse(ground, new GatewayError("not_found", sentence), { request });
    }
    const sentence = `${pathname} takes ${methods.join(", ")}, not ${request.method}`;
    const headers = { allow: methods.join(", ") };
    return errorResponse(ground, new GatewayError("method_not_allowed", sentence), { request, headers });
  };
}

/** Elysia wraps what is thrown while a body is read. */
function causeOf(error: unknown): unknown {
  const cause = error instanceof Error ? error.cause : undefined;
  if (cause instanceof GatewayError) return cause;
  return new GatewayError("invalid_request", "Cannot read the body as JSON", { cause: error });
}

/** The first fault of a body or query that Elysia checked. */
function explainValidation({ validator, value }: ValidationError): GatewayError {
  const fault = "Errors" in validator ? validator.Errors(value).First() : undefined;
  if (fault?.type === ValueErrorType.ObjectAdditionalProperties) {
    const param = fault.path.slice(1);
    return new GatewayError("invalid_request", `${param} is no field of this request; leave it out`, { param });
  }
  if (fault !== undefined) return explain(fault as unknown as Fault);
  return new GatewayError("invalid_request", "The request does not fit what was expected");
}
