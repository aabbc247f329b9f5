import type { FaultKind } from "../contract/index.ts";

/**
 * The words by which providers name a failure (`code`, `type`, `status` or `reason` of the error) and what each means.
 * Words that providers use for several failures (`invalid_request_error`) stand in {@link vagueErrorCodes}.
 */
export const errorCodes: Readonly<Record<string, FaultKind>> = {
  context_length_exceeded: "context_length",
  invalid_prompt: "bad_request",
  bio_policy: "bad_request",
  model_not_found: "model_not_found",
  model_decommissioned: "model_not_found",
  model_not_available: "model_not_found",
  not_found_error: "model_not_found",
  NOT_FOUND: "model_not_found",
  invalid_api_key: "auth",
  invalid_api_key_error: "auth",
  authentication_error: "auth",
  permission_error: "auth",
  permission_denied: "auth",
  account_deactivated: "auth",
  model_terms_required: "auth",
  unsupported_country_region_territory: "auth",
  API_KEY_INVALID: "auth",
  API_KEY_EXPIRED: "auth",
  FAILED_PRECONDITION: "auth",
  UNAUTHENTICATED: "auth",
  PERMISSION_DENIED: "auth",
  insufficient_quota: "insufficient_quota",
  insufficient_quota_error: "insufficient_quota",
  billing_error: "insufficient_quota",
  billing_hard_limit_reached: "insufficient_quota",
  billing_not_active: "insufficient_quota",
  rate_limit: "rate_limited",
  rate_limit_error: "rate_limited",
  rate_limit_exceeded: "rate_limited",
  rate_limit_exceeded_error: "rate_limited",
  RESOURCE_EXHAUSTED: "rate_limited",
  overloaded_error: "overloaded",
  capacity_exceeded: "overloaded",
  server_error: "overloaded",
  internal_server_error: "overloaded",
  api_error: "overloaded",
  INTERNAL: "overloaded",
  UNAVAILABLE: "overloaded",
  timeout_error: "timeout",
  DEADLINE_EXCEEDED: "timeout",
};

/** Words that decide only when nothing else does, not even a status. */
export const vagueErrorCodes: Readonly<Record<string, FaultKind>> = {
  invalid_request_error: "bad_request",
  unprocessable_entity_error: "bad_request",
  request_too_large: "bad_request",
  INVALID_ARGUMENT: "bad_request",
  tokens: "rate_limited",
  requests: "rate_limited",
};

const statusKinds: Readonly<Record<number, FaultKind>> = {
  401: "auth",
  402: "insufficient_quota",
  403: "auth",
  404: "model_not_found",
  408: "timeout",
  409: "overloaded",
  410: "model_not_found",
  424: "overloaded",
  425: "overloaded",
  429: "rate_limited",
  498: "overloaded",
  499: "bad_response",
  504: "timeout",
  524: "timeout",
};

/** What an HTTP status alone says. Anything that is not a failure at all is `bad_response`: it was not expected here. */
export function classifyStatus(status: number): FaultKind {
  const kind = statusKinds[status];
  if (kind !== undefined) return kind;
  if (status >= 500) return "overloaded";
  return status >= 400 ? "bad_request" : "bad_response";
}

const tooLong =
  /context[ _](?:length|window)|prompt is too long|maximum (?:context|number of (?:input )?tokens)|input (?:token count|is too long)|too many (?:input )?tokens/i;
const outOfMoney =
  /credit balance|insufficient (?:credits?|balance|funds)|exceeded your current quota, please check your plan and billing/i;

/** The figures of a rate limit's sentence: "Limit 7000, Used 0, Requested ~12903". */
const limitFigure = /\blimit:? (\d[\d,]{0,15})/i;
const requestedFigure = /\brequested:? ~?(\d[\d,]{0,15})/i;

/** The tokens of a request by the sentence of a rate limit. */
export function tokensRequested(sentence: string): number | undefined {
  return toFigure(requestedFigure.exec(sentence));
}

function toFigure(match: RegExpExecArray | null): number | undefined {
  return match === null ? undefined : Number(match[1]?.replaceAll(",", ""));
}

/** Whether a rate limit refuses what it could never take: waiting does not help. */
function isBeyondLimit(sentence: string): boolean {
  if (/\brequest too large\b/i.test(sentence)) return true;
  const [limit, requested] = [toFigure(limitFigure.exec(sentence)), tokensRequested(sentence)];
  return limit !== undefined && requested !== undefined && requested > limit;
}

/** What the sentence says that its code does not: Anthropic and others send only a sentence for these. */
export function refineKind(kind: FaultKind, sentence: string): FaultKind {
  if (kind === "rate_limited") return isBeyondLimit(sentence) ? "request_too_large" : kind;
  if (kind !== "bad_request") return kind;
  if (outOfMoney.test(sentence)) return "insufficient_quota";
  return tooLong.test(sentence) ? "context_length" : kind;
}
