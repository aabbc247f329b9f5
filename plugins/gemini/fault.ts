import {
  classifyErrorBody,
  classifyFault,
  isRecord,
  parseJson,
  type RefusedResponse,
  UpstreamFault,
} from "modelgate/plugin";

/** The provider's own sentences of these kinds name the gateway's project, quotas and region. */
const sentences: Record<string, string> = {
  auth: "The provider refused the gateway's credential or account",
  insufficient_quota: "The gateway's account with the provider is used up",
  rate_limited: "The provider's rate limit for this model is reached",
};

/** Reads a refusal: https://ai.google.dev/gemini-api/docs/troubleshooting */
export const readFault = (answer: RefusedResponse) => refine(classifyFault(answer), parseJson(answer.body));

/** Reads an error out of a 200 answer or a stream. */
export const faultOf = (body: unknown) => refine(classifyErrorBody(body), body);

/** An account's trouble comes as a failed precondition, and a day's quota as a rate limit. */
function refine(fault: UpstreamFault, body: unknown): UpstreamFault {
  const first = Array.isArray(body) ? body[0] : body;
  const error = isRecord(first) && isRecord(first.error) ? first.error : {};
  const isSpent = /"quotaId":"[^"]*PerDay/.test(JSON.stringify(error.details ?? []));
  let { kind } = fault;
  if (error.status === "FAILED_PRECONDITION") kind = /billing/i.test(fault.message) ? "insufficient_quota" : "auth";
  if (kind === "rate_limited" && isSpent) kind = "insufficient_quota";
  return new UpstreamFault(kind, sentences[kind] ?? fault.message, fault);
}
