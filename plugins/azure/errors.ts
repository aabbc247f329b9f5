import { classifyRefusal, isRecord, parseJson, UpstreamError } from "modelgate/plugin";
import type { RefusedResponse } from "../../src/provider/index.ts";

/**
 * Reads a refusal. Azure's content filter refuses a prompt with 400 and says which of its rules the prompt broke. The
 * operator chooses the name of a deployment, so a missing deployment is reported as a missing model.
 * https://learn.microsoft.com/azure/ai-foundry/openai/concepts/content-filter
 */
export function readError(answer: RefusedResponse): UpstreamError {
  const upstreamError = classifyRefusal(answer);
  const body = parseJson(answer.body, "document");
  const error = isRecord(body) && isRecord(body.error) ? body.error : {};
  const { status } = answer;
  const inner = isRecord(error.innererror) ? error.innererror : error.inner_error;
  const isFiltered =
    error.code === "content_filter" || (isRecord(inner) && inner.code === "ResponsibleAIPolicyViolation");
  if (isFiltered) {
    const results = isRecord(inner) ? (inner.content_filter_result ?? inner.content_filter_results) : undefined;
    const broken = Object.entries(isRecord(results) ? results : {})
      .filter(([, result]) => isRecord(result) && (result.filtered === true || result.detected === true))
      .map(([name]) => name.replaceAll("_", " "));
    const why = broken.length === 0 ? "" : ` (${broken.join(", ")})`;
    const message = `The provider's content filter refused the prompt${why}: change it`;
    return new UpstreamError("bad_request", message, { status, param: "messages", code: "content_policy_violation" });
  }
  if (error.code === "DeploymentNotFound" || error.code === "OperationNotSupported") {
    const message = `The provider does not serve this model to the gateway: it answered ${status} (${error.code})`;
    return new UpstreamError("model_not_found", message, { status, code: String(error.code) });
  }
  return upstreamError;
}
