import type { FaultKind } from "../contract/index.ts";

/**
 * The words by which providers name a failure (`code`, `type`, `status` or `reason` of the error) and what each means.
 * Words that providers use for several failures (`invalid_request_error`) stand in {@link vagueWords}.
 */
export const faultWords: Readonly<Record<string, FaultKind>> = {
  context_length_exceeded: "too_long",
  model_not_found: "gone",
  model_decommissioned: "gone",
  model_not_available: "gone",
  model_terms_required: "gone",
  not_found_error: "gone",
  NOT_FOUND: "gone",
  invalid_api_key: "key",
  invalid_api_key_error: "key",
  authentication_error: "key",
  permission_error: "key",
  permission_denied: "key",
  account_deactivated: "key",
  unsupported_country_region_territory: "key",
  API_KEY_INVALID: "key",
  API_KEY_EXPIRED: "key",
  UNAUTHENTICATED: "key",
  PERMISSION_DENIED: "key",
  insufficient_quota: "quota",
  insufficient_quota_error: "quota",
  billing_error: "quota",
  billing_hard_limit_reached: "quota",
  billing_not_active: "quota",
  rate_limit: "limited",
  rate_limit_error: "limited",
  rate_limit_exceeded: "limited",
  rate_limit_exceeded_error: "limited",
  RESOURCE_EXHAUSTED: "limited",
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
export const vagueWords: Readonly<Record<string, FaultKind>> = {
  invalid_request_error: "bad_request",
  unprocessable_entity_error: "bad_request",
  request_too_large: "bad_request",
  INVALID_ARGUMENT: "bad_request",
  FAILED_PRECONDITION: "bad_request",
  tokens: "limited",
  requests: "limited",
};

const kindOfStatusTable: Readonly<Record<number, FaultKind>> = {
  401: "key",
  402: "quota",
  403: "key",
  404: "gone",
  408: "timeout",
  409: "overloaded",
  410: "gone",
  424: "overloaded",
  425: "overloaded",
  429: "limited",
  498: "overloaded",
  499: "broken",
  504: "timeout",
  524: "timeout",
};

/** What an HTTP status alone says. Anything that is no failure at all is `broken`: it was not expected here. */
export function kindOfStatus(status: number): FaultKind {
  const kind = kindOfStatusTable[status];
  if (kind !== undefined) return kind;
  if (status >= 500) return "overloaded";
  return status >= 400 ? "bad_request" : "broken";
}

const tooLong =
  /context[ _](?:length|window)|prompt is too long|maximum (?:context|number of (?:input )?tokens)|input (?:token count|is too long)|too many (?:input )?tokens/i;
const outOfMoney =
  /credit balance|insufficient (?:credits?|balance|funds)|exceeded your current quota, please check your plan and billing/i;

/** What the sentence says that its code does not: Anthropic and others send only a sentence for these. */
export function kindOfSentence(kind: FaultKind, sentence: string): FaultKind {
  if (kind !== "bad_request" && kind !== "limited") return kind;
  if (outOfMoney.test(sentence) && kind === "bad_request") return "quota";
  return kind === "bad_request" && tooLong.test(sentence) ? "too_long" : kind;
}
