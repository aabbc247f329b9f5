import {
  type ContextFigures,
  getOwn,
  isAmount,
  isContextLength,
  UpstreamError,
  type UpstreamErrorKind,
} from "../contract/index.ts";
import { isRecord, JsonBoundsError, readJson } from "../lib/json.ts";
import { type HeaderReader, retryAfterMs } from "../lib/retry-after.ts";
import type { RefusedResponse } from "../provider/index.ts";

const sentenceCharactersMax = 1000;
const noHeaders: HeaderReader = { get: () => null };

/** Facts in a provider's error body, as far as it has any. */
interface ErrorFacts {
  message?: string | undefined;
  words: string[];
  code?: string | undefined;
  param?: string | undefined;
  status?: number | undefined;
  figures?: ContextFigures | undefined;
}

/**
 * Reads a refusal into an error: `{"error":{"message","type","param","code"}}` in all its dialects, the same in an array,
 * and anything else (HTML, plain text, nothing). Sentences of the `key` and `quota` kinds are ours, never the provider's,
 * and no message carries a key or an account's name.
 *
 * @example
 * const body = JSON.stringify({ error: { message: "Slow down", code: "rate_limit_exceeded" } });
 * const headers = new Headers({ "retry-after": "7" });
 * const fault = classifyRefusal({ status: 429, headers, body });
 * [fault.kind, fault.retryAfterMs]; // => ["rate_limited", 7000]
 */
export function classifyRefusal(answer: RefusedResponse): UpstreamError {
  const facts = readFacts(readBody(answer.body));
  if (answer.status === 404 && answer.body.trimStart().startsWith("<")) {
    return new UpstreamError("bad_response", "The provider answered 404 with a page: its base URL seems wrong", {
      status: 404,
    });
  }
  return toUpstreamError(facts, answer.status, retryAfterMs(answer.headers, answer.body));
}

/**
 * Reads an error that came inside a 200 answer or a stream.
 *
 * @param body The JSON value that holds the error, or the text when it is not JSON.
 * @param status The status to go by when the error does not name one.
 *
 * @example
 * classifyError({ error: { message: "Busy", type: "overloaded_error" } }).kind; // => "overloaded"
 */
export function classifyError(body: unknown, status?: number): UpstreamError {
  const facts = readFacts(body);
  return toUpstreamError(facts, facts.status ?? status, retryAfterMs(noHeaders, toExcerpt(body)));
}

/**
 * Whether an answer with status 200 says in its envelope that it failed, as MiniMax does: `{ "base_resp": { "status_code": 1002 } }`.
 *
 * @example
 * isFailedAnswer({ base_resp: { status_code: 0 }, choices: [] }); // => false
 */
export function isFailedAnswer({ error, base_resp: base }: Readonly<Record<string, unknown>>): boolean {
  if (error !== undefined && error !== null) return true;
  if (!isRecord(base)) return false;
  const { status_code: code = 0 } = base;
  return typeof code === "object" ? code !== null : Number(code) !== 0;
}

/** The JSON of a refusal, or its text where that is not JSON. Of JSON that is too deep or too wide nothing is known. */
function readBody(text: string): unknown {
  try {
    return readJson(text, "document");
  } catch (error) {
    return error instanceof JsonBoundsError ? undefined : text;
  }
}

/**
 * Maximum number of values of an error, and of characters of a text, that are searched: an answer that is not an error
 * may be long.
 */
const [valuesMax, textCharactersMax] = [1000, 8192];

/** A text, or the beginning of a value as JSON. */
function toExcerpt(body: unknown): string {
  if (typeof body === "string") return body.slice(0, textCharactersMax);
  let left = valuesMax;
  const copy = (value: unknown): unknown => {
    left--;
    if (typeof value === "string") return value.slice(0, textCharactersMax);
    if (Array.isArray(value)) return value.slice(0, Math.max(0, left)).map(copy);
    if (!isRecord(value)) return value;
    const members: Record<string, unknown> = {};
    for (const name in value) {
      if (left <= 0) break;
      members[name] = copy(value[name]);
    }
    return members;
  };
  return JSON.stringify(copy(body)) ?? "";
}

/**
 * Reads the error of a failed response, or of an event that reports one, in the Responses protocol. The provider's own
 * failures have known codes. Any other code is about the prompt or its images, and counts against no route, because a
 * caller can provoke it.
 *
 * @param body The JSON value that holds the error.
 *
 * @example
 * const fault = classifyResponseFailure({ error: { code: "invalid_image_url", message: "No image there" } });
 * [fault.kind, fault.isOfRequest]; // => ["bad_response", true]
 */
export function classifyResponseFailure(body: unknown): UpstreamError {
  const error = classifyError(body);
  const { kind, message, code, param, status } = error;
  if (kind !== "bad_response" || code === undefined) return error;
  return new UpstreamError(kind, message, { code, param, status, isOfRequest: true });
}

function toUpstreamError(facts: ErrorFacts, status: number | undefined, retryMs: number | undefined): UpstreamError {
  const kind = refineKind(toKind(facts, status), facts.message ?? "");
  const { param, code } = facts;
  // A missing resource may be a file that the request names, unless the provider says that it is the model.
  const isOfRequest = kind === "model_not_found" && !facts.words.some((word) => /model/i.test(word));
  const message = toMessage(kind, facts, status);
  const { figures: contextFigures } = facts;
  return new UpstreamError(kind, message, { status, param, code, retryAfterMs: retryMs, contextFigures, isOfRequest });
}

function toKind({ words, message }: ErrorFacts, status: number | undefined): UpstreamErrorKind {
  const find = (codes: typeof errorCodes) =>
    words.map((word) => getOwn(codes, word)).find((kind) => kind !== undefined);
  // Another gateway has a code beside it that its clients act on.
  const isUnpaid =
    words.includes("insufficient_quota") || (words.includes("FAILED_PRECONDITION") && /billing/i.test(message ?? ""));
  if (isUnpaid) return "insufficient_quota";
  const byStatus = status !== undefined && status >= 400 ? classifyStatus(status) : undefined;
  const kind = find(errorCodes) ?? byStatus ?? find(vagueErrorCodes) ?? "bad_response";
  // Providers have one word for all of their failures.
  return kind === "server_error" && (byStatus === "overloaded" || byStatus === "bad_request") ? byStatus : kind;
}

function toMessage(kind: UpstreamErrorKind, facts: ErrorFacts, status: number | undefined): string {
  const answered = status === undefined ? "failed" : `answered ${status}`;
  const named = facts.code === undefined ? "" : ` (${facts.code})`;
  const refused = facts.words.includes("FAILED_PRECONDITION") ? "account or location" : "credential";
  if (kind === "auth") return `The provider refused the gateway's ${refused}: it ${answered}${named}`;
  if (kind === "insufficient_quota")
    return `The gateway's account with the provider is used up: it ${answered}${named}`;
  if (kind === "request_too_large") {
    const tokens = tokensRequested(facts.message ?? "");
    const size = tokens === undefined ? "The request has more tokens" : `The request has about ${tokens} tokens, more`;
    return `${size} than the gateway's provider account allows at once; send less`;
  }
  // Google's own message names the project and its quotas.
  if (kind === "rate_limited" && facts.words.includes("RESOURCE_EXHAUSTED"))
    return "The provider's rate limit for this model is reached";
  if (facts.message === undefined) return `The provider ${answered} without a reason`;
  return redact(facts.message);
}

function readFacts(body: unknown): ErrorFacts {
  const value = Array.isArray(body) ? body[0] : body;
  if (typeof value === "string") return { message: toPlainText(value), words: [] };
  if (!isRecord(value)) return { words: [] };
  const { base_resp: base } = value;
  const envelope = isRecord(base) && isFailedAnswer({ base_resp: base }) ? readEnvelope(base) : undefined;
  const listed: unknown = Array.isArray(value.error) ? value.error[0] : value.error;
  const error = isRecord(listed) ? listed : (envelope ?? value);
  const places = [
    error.message,
    listed,
    error.detail,
    value.message,
    error.msg,
    error.error_msg,
    error.errors,
    value.errors,
  ];
  const statement = findStatement(places, nestingMax);
  // Anthropic's errors have types alone, of which clients act on this one as on a code.
  const code = toWord(error.code) ?? (error.type === "policy_blocked" ? error.type : undefined);
  const words = [code, readReason(error), toWord(error.type), toWord(error.status)].filter(
    (word) => word !== undefined,
  );
  // In a stream an overload has a name alone.
  const named = words.includes("overloaded_error") ? 529 : undefined;
  const status = [error.status_code, error.code, error.status].find(isHttpStatus) ?? named;
  const param = toText(error.param) ?? statement?.param;
  return { message: statement?.message, words, code, param, status, figures: readFigures(error) };
}

/** A sentence of an error, and the field of the request that it is about. */
interface Statement {
  readonly message: string;
  readonly param?: string | undefined;
}

/** Maximum number of entries of a list that are looked at, and of objects within one another. */
const [entriesMax, nestingMax] = [16, 4];

/** Reads the first sentence that one of some values has: a text, the `message` of an object, or the first of a list. */
function findStatement(values: readonly unknown[], depth: number): Statement | undefined {
  for (const value of values) {
    const statement = readStatement(value, depth);
    if (statement !== undefined) return statement;
  }
  return undefined;
}

function readStatement(value: unknown, depth: number): Statement | undefined {
  const text = toText(value);
  if (text !== undefined) return { message: text };
  if (depth === 0) return undefined;
  if (Array.isArray(value)) return findStatement(value.slice(0, entriesMax), depth - 1);
  if (!isRecord(value)) return undefined;
  const { message, msg, detail, errors, loc } = value;
  const statement = findStatement([message, msg, detail, errors], depth - 1);
  const param = toPath(loc);
  return statement === undefined || param === undefined
    ? statement
    : { message: `${param}: ${statement.message}`, param };
}

/** The place of a fault as FastAPI writes it, in one word: `["body", "messages", 0]`. */
function toPath(loc: unknown): string | undefined {
  if (!Array.isArray(loc)) return undefined;
  const names = loc.slice(0, entriesMax).filter((name) => typeof name === "string" || typeof name === "number");
  return toText((names[0] === "body" ? names.slice(1) : names).join("."));
}

/** MiniMax's numbers of failures in {@link errorCodes}. https://platform.minimax.io/docs/api-reference/errorcode */
const envelopeTypes: Readonly<Record<string, string>> = {
  1001: "timeout_error",
  1002: "rate_limit_error",
  1004: "authentication_error",
  1008: "billing_error",
  1026: "invalid_request_error",
  1027: "invalid_request_error",
  1039: "rate_limit_error",
  1041: "rate_limit_error",
  1042: "invalid_request_error",
  2013: "invalid_request_error",
  2049: "authentication_error",
  2056: "rate_limit_error",
};

/** The failure of an envelope in the form of an error. */
function readEnvelope({ status_code: number, status_msg: message }: Record<string, unknown>): Record<string, unknown> {
  const code = typeof number === "string" ? number : JSON.stringify(number);
  return { code, message, type: getOwn(envelopeTypes, code) ?? "server_error" };
}

/** Figures of llama.cpp for a prompt that is too long. */
function readFigures({ n_prompt_tokens: prompt, n_ctx: max }: Record<string, unknown>): ContextFigures | undefined {
  return isAmount(prompt) && isAmount(max) ? { prompt, max } : undefined;
}

/**
 * Google's machine-readable reason, which distinguishes a bad key from a bad request, and a day's quota from a rate
 * limit.
 */
function readReason(error: Record<string, unknown>): string | undefined {
  const details: unknown[] = Array.isArray(error.details) ? error.details : [];
  if (/"quotaId":"[^"]*PerDay/.test(toExcerpt(details))) return "insufficient_quota";
  const reasons = details.slice(0, valuesMax).map((detail) => isRecord(detail) && toWord(detail.reason));
  return reasons.find((reason) => reason) || undefined;
}

function toPlainText(text: string): string | undefined {
  const trimmed = text.slice(0, textCharactersMax).trim();
  return trimmed === "" || trimmed.startsWith("<") ? undefined : trimmed;
}

function toText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value.slice(0, textCharactersMax) : undefined;
}

function toWord(value: unknown): string | undefined {
  return typeof value === "string" && /^[\w.:-]{1,64}$/.test(value) ? value : undefined;
}

function isHttpStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599;
}

/** Keys, and the names of the account and project that a provider puts into its messages. */
const secrets = new RegExp(
  [
    String.raw`\b(?:sk|gsk|pk|rk|tgp|xai)[-_][\w*.-]{6,}`,
    String.raw`\bAIza[\w-]{10,}`,
    String.raw`\bBearer\s+\S+`,
    String.raw`\b(?:org|proj|user|acct)[-_]\w{4,}`,
    String.raw`\bproject_number:\d+`,
    String.raw`\b[\da-f]{8}-[\da-f]{4}-[\da-f]{4}-[\da-f]{4}-[\da-f]{12}\b`,
  ].join("|"),
  "g",
);

function redact(message: string): string {
  // A long message is cut before it is looked through, behind where it is cut again: no key is cut in two.
  const clean = message.slice(0, 2 * sentenceCharactersMax).replace(secrets, "[hidden]");
  return clean.length <= sentenceCharactersMax ? clean : `${clean.slice(0, sentenceCharactersMax)}…`;
}

/**
 * The words that providers use for a failure (`code`, `type`, `status` or `reason` of the error) and what each means.
 * Words that providers use for several failures (`invalid_request_error`) are in {@link vagueErrorCodes}.
 */
const errorCodes: Readonly<Record<string, UpstreamErrorKind>> = {
  context_length_exceeded: "context_length",
  context_window_exceeded: "context_length",
  exceed_context_size_error: "context_length",
  model_context_window_exceeded: "context_length",
  model_max_prompt_tokens_exceeded: "context_length",
  invalid_prompt: "bad_request",
  policy_blocked: "bad_request",
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
  usage_limit_reached: "insufficient_quota",
  rate_limit: "rate_limited",
  rate_limit_error: "rate_limited",
  rate_limit_exceeded: "rate_limited",
  rate_limit_exceeded_error: "rate_limited",
  RESOURCE_EXHAUSTED: "rate_limited",
  overloaded_error: "overloaded",
  capacity_exceeded: "overloaded",
  server_is_overloaded: "overloaded",
  server_error: "server_error",
  internal_server_error: "server_error",
  api_error: "server_error",
  INTERNAL: "server_error",
  UNAVAILABLE: "overloaded",
  timeout_error: "timeout",
  DEADLINE_EXCEEDED: "timeout",
};

/** Words that decide only when nothing else does, not even a status. */
const vagueErrorCodes: Readonly<Record<string, UpstreamErrorKind>> = {
  invalid_request_error: "bad_request",
  unprocessable_entity_error: "bad_request",
  request_too_large: "bad_request",
  INVALID_ARGUMENT: "bad_request",
  tokens: "rate_limited",
  requests: "rate_limited",
};

const statusKinds: Readonly<Record<number, UpstreamErrorKind>> = {
  401: "auth",
  402: "insufficient_quota",
  403: "auth",
  404: "model_not_found",
  408: "timeout",
  409: "overloaded",
  410: "model_not_found",
  424: "server_error",
  425: "overloaded",
  429: "rate_limited",
  498: "overloaded",
  499: "bad_response",
  503: "overloaded",
  504: "timeout",
  524: "timeout",
  529: "overloaded",
};

/**
 * Classifies by the HTTP status alone. Anything that is not a failure at all is `bad_response`: it was not expected
 * here.
 */
function classifyStatus(status: number): UpstreamErrorKind {
  const kind = statusKinds[status];
  if (kind !== undefined) return kind;
  if (status >= 500) return "server_error";
  return status >= 400 ? "bad_request" : "bad_response";
}

const outOfMoney =
  /credit balance|insufficient (?:credits?|balance|funds)|exceeded your current quota, please check your plan and billing/i;

/**
 * Messages of a provider's moderation that refuses a prompt. Some providers (OpenRouter, xAI) send them with status
 * 403.
 */
const flagged = /\b(?:input was flagged|violates usage guidelines)\b/i;

/** The figures of a rate limit's message: "Limit 7000, Used 0, Requested ~12903". */
const limitFigure = /\blimit:? (\d[\d,]{0,15})/i;
const requestedFigure = /\brequested:? ~?(\d[\d,]{0,15})/i;

/** The tokens of a request by the message of a rate limit. */
function tokensRequested(message: string): number | undefined {
  return toFigure(requestedFigure.exec(message));
}

function toFigure(match: RegExpExecArray | null): number | undefined {
  return match === null ? undefined : Number(match[1]?.replaceAll(",", ""));
}

/** Whether a rate limit refuses what it could never take: waiting does not help. */
function isBeyondLimit(message: string): boolean {
  if (/\brequest too large\b/i.test(message)) return true;
  const [limit, requested] = [toFigure(limitFigure.exec(message)), tokensRequested(message)];
  return limit !== undefined && requested !== undefined && requested > limit;
}

/** Kinds whose message may report that the prompt is too long: some servers answer 500 for it, or without a status. */
const vagueKinds: ReadonlySet<UpstreamErrorKind> = new Set([
  "bad_request",
  "bad_response",
  "overloaded",
  "server_error",
]);

/** A model that takes no images or audio, which some servers (llama.cpp) call a failure of their own. */
const lacksMedia =
  /\b(?:image|audio|video|vision|multimodal)s?(?: inputs?)? (?:is|are) not supported\b|\bdoes(?: not|n't) support (?:image|audio|video|vision|multimodal)/i;

/** Classifies by the message where the code does not decide: Anthropic and others send only a message for these. */
function refineKind(kind: UpstreamErrorKind, message: string): UpstreamErrorKind {
  if (kind === "rate_limited") return isBeyondLimit(message) ? "request_too_large" : kind;
  if (kind === "auth" && flagged.test(message)) return "bad_request";
  if (kind === "bad_request" && outOfMoney.test(message)) return "insufficient_quota";
  if (!vagueKinds.has(kind)) return kind;
  if (isContextLength(message)) return "context_length";
  return lacksMedia.test(message) ? "bad_request" : kind;
}
