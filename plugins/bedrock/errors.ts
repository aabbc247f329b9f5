import { isRecord, parseJson, type ServerEvent, UpstreamError } from "modelgate/plugin";
import { isContextLength, type UpstreamErrorKind } from "../../src/contract/index.ts";
import { retryAfterMs } from "../../src/lib/retry-after.ts";
import type { RefusedResponse } from "../../src/provider/index.ts";

/** https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_Converse.html#API_runtime_Converse_Errors */
const kinds: Readonly<Record<string, UpstreamErrorKind>> = {
  accessdeniedexception: "auth",
  unrecognizedclientexception: "auth",
  invalidsignatureexception: "auth",
  signaturedoesnotmatch: "auth",
  incompletesignature: "auth",
  missingauthenticationtokenexception: "auth",
  invalidclienttokenid: "auth",
  expiredtokenexception: "auth",
  expiredtoken: "auth",
  throttlingexception: "rate_limited",
  servicequotaexceededexception: "rate_limited",
  resourcenotfoundexception: "model_not_found",
  modelnotreadyexception: "overloaded",
  serviceunavailableexception: "overloaded",
  internalserverexception: "server_error",
  internalfailure: "server_error",
  validationexception: "bad_request",
  modelerrorexception: "bad_response",
  modelstreamerrorexception: "bad_response",
  modeltimeoutexception: "timeout",
};

/** Error kind of an answer without a known type, which may come from a proxy in between. */
function toKindByStatus(status: number): UpstreamErrorKind {
  if (status === 401 || status === 403) return "auth";
  if (status === 404) return "model_not_found";
  if (status === 429) return "rate_limited";
  if (status === 413) return "request_too_large";
  if (status === 408 || status === 424) return "bad_response";
  if (status === 503 || status === 529) return "overloaded";
  return status >= 500 ? "server_error" : status >= 400 ? "bad_request" : "bad_response";
}

/** Messages that decide the kind where no type does. */
const messageKinds: readonly (readonly [RegExp, UpstreamErrorKind])[] = [
  [
    /model identifier is invalid|on-demand throughput isn.t supported|end of its life|legacy.{0,60}model/i,
    "model_not_found",
  ],
  [/don.t have access to the model|model access is denied|is not available for this account/i, "model_not_found"],
  // Said as "AccessDeniedException" for a cache point that the model does not take; the key is good.
  [/did not allow prompt caching/i, "bad_request"],
];

/** Reads a refusal: its type is in a header, or in the body as `__type`. */
export function readError({ status, headers, body }: RefusedResponse): UpstreamError {
  const value = parseJson(body, "document");
  const { message, Message, __type: bodyType, error }: Record<string, unknown> = isRecord(value) ? value : {};
  const inner = isRecord(error) ? error.message : undefined;
  const text = [message, Message, inner].find((one) => typeof one === "string" && one !== "") as string | undefined;
  const type = headers.get("x-amzn-errortype") ?? (typeof bodyType === "string" ? bodyType : "");
  return toUpstreamError({ type, message: text, status, retryMs: retryAfterMs(headers, body) });
}

/** Reads an exception that came in the stream. */
export function readStreamError({ data }: ServerEvent): UpstreamError {
  const value = parseJson(data, "document");
  const error = isRecord(value) && isRecord(value.error) ? value.error : {};
  const message = typeof error.message === "string" ? error.message : undefined;
  return toUpstreamError({ type: String(error.type ?? ""), message });
}

interface Refusal {
  /** `ThrottlingException`, also as `com.amazon…#ThrottlingException:http://…`. */
  type: string;
  message: string | undefined;
  status?: number | undefined;
  retryMs?: number | undefined;
}

function toUpstreamError({ type, message, status, retryMs }: Refusal): UpstreamError {
  const [name = ""] = type.slice(type.lastIndexOf("#") + 1).split(":");
  const byType = kinds[name.toLowerCase()] ?? (status === undefined ? "bad_response" : toKindByStatus(status));
  const byMessage = messageKinds.find(([pattern]) => pattern.test(message ?? ""))?.[1];
  const isVague = byType === "bad_request" || byType === "auth" || byType === "model_not_found";
  const isTooLong = (isVague || byType === "bad_response") && isContextLength(message ?? "");
  const kind = isTooLong ? "context_length" : isVague ? (byMessage ?? byType) : byType;
  const named = [status, /^\w{1,64}$/.test(name) ? name : undefined].filter((part) => part !== undefined).join(", ");
  const answered = named === "" ? "failed" : `answered ${named}`;
  // Its messages of these kinds name accounts, users and roles.
  const isOwn = kind === "auth" || kind === "model_not_found" || message === undefined;
  const refused: Partial<Record<UpstreamErrorKind, string>> = {
    auth: `The provider refused the gateway's credential: it ${answered}`,
    model_not_found: `The provider does not serve this model to the gateway: it ${answered}`,
  };
  const shown = isOwn ? (refused[kind] ?? `The provider ${answered} without a reason`) : hide(message);
  return new UpstreamError(kind, shown, { status, code: name === "" ? undefined : name, retryAfterMs: retryMs });
}

/** ARNs name an account. */
const hide = (text: string) => text.slice(0, 1000).replace(/arn:[\w-]+:[^\s'",]+|\b\d{12}\b/g, "[hidden]");
