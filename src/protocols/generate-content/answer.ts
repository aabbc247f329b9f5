import {
  type ChatUsage,
  type FinishReason,
  GatewayError,
  getOwn,
  type ServerEvent,
  UpstreamFault,
} from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { parseShape } from "../../lib/parse-shape.ts";
import { classifyError } from "../upstream-errors.ts";
import { answerShape, type GenerateAnswer, type GeneratedCandidate } from "./wire.ts";

/** What one choice of an answer has given so far, and why it ended. */
export interface GeneratedSoFar {
  text: boolean;
  calls: number;
  reason?: string | undefined;
  /** The provider's sentence on the reason. */
  sentence?: string | undefined;
}

const lengthReasons = ["MAX_TOKENS", "CONTINUATION"];
const filterReasons = `SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY
  IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION`.split(/\s+/);

export function toFinish({ reason = "OTHER", sentence, text, calls }: GeneratedSoFar): FinishReason {
  if (lengthReasons.includes(reason)) return "length";
  if (filterReasons.includes(reason)) return "content_filter";
  if (calls > 0) return "tool_calls";
  if (text || reason === "STOP") return "stop";
  const why = sentence === undefined ? "" : `: ${sentence.slice(0, 300)}`;
  throw new UpstreamFault("bad_response", `The model gave no answer (${reason})${why}`, {
    code: reason,
    isOfRequest: true,
  });
}

export function expectAllowed(
  { finishReason: reason, finishMessage }: GeneratedCandidate,
  hasOutput: boolean,
  param: string,
): void {
  const finish = toFinish({ reason, sentence: finishMessage, text: hasOutput, calls: 0 });
  if (finish !== "content_filter") return;
  const message = `The provider's safety system refused this (${reason}): change the ${param}`;
  throw new GatewayError("invalid_request", message, { param, publicCode: "content_policy_violation" });
}

export function readCandidates(answer: unknown): GeneratedCandidate[] {
  if (!parseShape(answer, answerShape) || answer.error !== undefined) throw classifyError(answer);
  const { candidates = [], promptFeedback: feedback } = answer;
  const isBlocked = (feedback?.blockReason ?? feedback?.blockReasonMessage) !== undefined;
  return isBlocked && candidates.length === 0 ? [{ finishReason: "SAFETY" }] : candidates;
}

export function readUsage(metadata: GenerateAnswer["usageMetadata"], given: boolean): ChatUsage | undefined {
  const [asked, candidates, thoughts, cached, tools] = counted.map((of) => numberIn(metadata?.[`${of}TokenCount`]));
  if (asked === undefined || (candidates === undefined && given)) return undefined;
  const prompt = asked + (tools ?? 0);
  const completion = (candidates ?? 0) + (thoughts ?? 0);
  const drawn = [metadata?.candidatesTokensDetails].flat().find((part) => isRecord(part) && part.modality === "IMAGE");
  const images = isRecord(drawn) ? numberIn(drawn.tokenCount) : undefined;
  const details = {
    ...(thoughts !== undefined && { reasoning_tokens: thoughts }),
    ...(images !== undefined && { image_tokens: images }),
  };
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(cached !== undefined && { prompt_tokens_details: { cached_tokens: cached } }),
    ...(Object.keys(details).length > 0 && { completion_tokens_details: details }),
  };
}

export function readTokenUsage(
  metadata: GenerateAnswer["usageMetadata"],
  given: boolean,
): Record<string, unknown> | undefined {
  const usage = readUsage(metadata, given);
  return (
    usage && {
      input_tokens: usage.prompt_tokens,
      output_tokens: usage.completion_tokens,
      total_tokens: usage.total_tokens,
      ...(usage.prompt_tokens_details && { input_tokens_details: usage.prompt_tokens_details }),
      ...(usage.completion_tokens_details && { output_tokens_details: usage.completion_tokens_details }),
    }
  );
}

const counted = ["prompt", "candidates", "thoughts", "cachedContent", "toolUsePrompt"];
const numberIn = (count: unknown) => (typeof count === "number" ? count : undefined);

/** The provider's names of its tiers. https://ai.google.dev/gemini-api/docs/priority-inference */
const tiers: Record<string, string> = { standard: "default", flex: "flex", priority: "priority" };

export const readServiceTier = (metadata: GenerateAnswer["usageMetadata"]) =>
  getOwn(tiers, String(metadata?.serviceTier));

export function readEvent({ event, data }: ServerEvent): GenerateAnswer {
  const answer = parseJson(data);
  if (event === "raw") throw classifyError(answer ?? data);
  if (answer !== undefined) return answer as GenerateAnswer;
  throw new UpstreamFault("bad_response", "A piece of the provider's stream is not JSON");
}

export const endedEarly = () =>
  new UpstreamFault("bad_response", "The provider's stream ended before the answer was complete");
