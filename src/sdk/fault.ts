import { type FaultKind, getOwn, type RefusedResponse, UpstreamFault } from "../contract/index.ts";
import { errorCodes, kindOfSentence, kindOfStatus, tokensRequested, vagueErrorCodes } from "./error-codes.ts";
import { isRecord } from "./json.ts";
import { type HeaderReader, retryAfterMs } from "./retry-after.ts";

const sentenceCharactersMax = 1000;
const noHeaders: HeaderReader = { get: () => null };

/** What a provider's error body says, as far as it says anything. */
interface ErrorFacts {
  message?: string | undefined;
  words: string[];
  code?: string | undefined;
  param?: string | undefined;
  status?: number | undefined;
}

/**
 * Reads a refusal into a fault: `{"error":{"message","type","param","code"}}` in all its dialects, the same in an array,
 * and anything else (HTML, plain text, nothing). Sentences of the `key` and `quota` kinds are ours, never the provider's,
 * and no sentence carries a key or an account's name.
 *
 * @example
 * const body = JSON.stringify({ error: { message: "Slow down", code: "rate_limit_exceeded" } });
 * const headers = new Headers({ "retry-after": "7" });
 * const fault = classifyFault({ status: 429, headers, body });
 * [fault.kind, fault.retryAfterMs]; // => ["rate_limited", 7000]
 */
export function classifyFault(answer: RefusedResponse): UpstreamFault {
  const facts = factsOf(parsed(answer.body));
  if (answer.status === 404 && answer.body.trimStart().startsWith("<")) {
    return new UpstreamFault("bad_response", "The provider answered 404 with a page: its base URL seems wrong", {
      status: 404,
    });
  }
  return toFault(facts, answer.status, retryAfterMs(answer.headers, answer.body));
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
export function classifyError(body: unknown, status?: number): UpstreamFault {
  const facts = factsOf(body);
  const text = typeof body === "string" ? body : JSON.stringify(body);
  return toFault(facts, facts.status ?? status, retryAfterMs(noHeaders, text ?? ""));
}

function toFault(facts: ErrorFacts, status: number | undefined, retryMs: number | undefined): UpstreamFault {
  const kind = kindOfSentence(kindOf(facts, status), facts.message ?? "");
  const { param, code } = facts;
  return new UpstreamFault(kind, sentenceOf(kind, facts, status), { status, param, code, retryAfterMs: retryMs });
}

function kindOf(facts: ErrorFacts, status: number | undefined): FaultKind {
  for (const word of facts.words) {
    const kind = getOwn(errorCodes, word);
    if (kind !== undefined) return kind;
  }
  if (status !== undefined && status >= 400) return kindOfStatus(status);
  for (const word of facts.words) {
    const kind = getOwn(vagueErrorCodes, word);
    if (kind !== undefined) return kind;
  }
  return "bad_response";
}

function sentenceOf(kind: FaultKind, facts: ErrorFacts, status: number | undefined): string {
  const answered = status === undefined ? "failed" : `answered ${status}`;
  const named = facts.code === undefined ? "" : ` (${facts.code})`;
  if (kind === "auth") return `The provider refused the gateway's credential: it ${answered}${named}`;
  if (kind === "insufficient_quota")
    return `The gateway's account with the provider is used up: it ${answered}${named}`;
  if (kind === "request_too_large") {
    const tokens = tokensRequested(facts.message ?? "");
    const size = tokens === undefined ? "The request has more tokens" : `The request has about ${tokens} tokens, more`;
    return `${size} than the gateway's provider account takes at once; send less`;
  }
  if (facts.message === undefined) return `The provider ${answered} without saying why`;
  return redact(facts.message);
}

function factsOf(body: unknown): ErrorFacts {
  const value = Array.isArray(body) ? body[0] : body;
  if (typeof value === "string") return { message: plainText(value), words: [] };
  if (!isRecord(value)) return { words: [] };
  const error = isRecord(value.error) ? value.error : value;
  const message = textOf(error.message) ?? textOf(value.error) ?? textOf(error.detail) ?? textOf(value.message);
  const code = wordOf(error.code);
  const words = [code, reasonOf(error), wordOf(error.type), wordOf(error.status)].filter((word) => word !== undefined);
  const status = [error.status_code, error.code, error.status].find(isHttpStatus);
  return { message, words, code, param: textOf(error.param), status };
}

/** Google's machine-readable reason, which tells a bad key from a bad request. */
function reasonOf(error: Record<string, unknown>): string | undefined {
  if (!Array.isArray(error.details)) return undefined;
  for (const detail of error.details) if (isRecord(detail) && wordOf(detail.reason)) return wordOf(detail.reason);
  return undefined;
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

function plainText(text: string): string | undefined {
  const trimmed = text.trim();
  return trimmed === "" || trimmed.startsWith("<") ? undefined : trimmed;
}

function textOf(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

function wordOf(value: unknown): string | undefined {
  return typeof value === "string" && /^[\w.:-]{1,64}$/.test(value) ? value : undefined;
}

function isHttpStatus(value: unknown): value is number {
  return Number.isInteger(value) && (value as number) >= 400 && (value as number) <= 599;
}

/** Keys, and the names of the account and project that a provider puts into its sentences. */
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

function redact(sentence: string): string {
  // A long sentence is cut before it is looked through, behind where it is cut again: no key is cut in two.
  const clean = sentence.slice(0, 2 * sentenceCharactersMax).replace(secrets, "[hidden]");
  return clean.length <= sentenceCharactersMax ? clean : `${clean.slice(0, sentenceCharactersMax)}…`;
}
