import { type ChatUsage, type ChunkChoice, type FinishReason, parseShape, UpstreamFault } from "modelgate/plugin";
import { faultOf } from "./fault.ts";
import { type CallReading, toToolCall } from "./tool-calls.ts";
import { answerShape, type Candidate, type GenerateAnswer, type Logprob } from "./wire.ts";

/** What one choice of an answer has given so far, and why it ended. */
export interface Given {
  text: boolean;
  calls: number;
  reason?: string | undefined;
  /** The provider's sentence on the reason. */
  sentence?: string | undefined;
}

const lengthReasons = ["MAX_TOKENS", "CONTINUATION"];
const filterReasons = `SAFETY RECITATION LANGUAGE BLOCKLIST PROHIBITED_CONTENT SPII IMAGE_SAFETY
  IMAGE_PROHIBITED_CONTENT IMAGE_RECITATION`.split(/\s+/);

/** @throws {UpstreamFault} `bad_response` when the model failed (a malformed function call, for one) and gave nothing. */
export function toFinish({ reason = "OTHER", sentence, text, calls }: Given): FinishReason {
  if (lengthReasons.includes(reason)) return "length";
  if (filterReasons.includes(reason)) return "content_filter";
  if (calls > 0) return "tool_calls";
  if (text || reason === "STOP") return "stop";
  const why = sentence === undefined ? "" : `: ${sentence.slice(0, 300)}`;
  throw new UpstreamFault("bad_response", `The model gave no answer (${reason})${why}`, { code: reason });
}

/**
 * The candidates of an answer or of an event. A prompt that was refused has none, and sometimes no reason but a
 * sentence: it is read as a candidate that was filtered.
 *
 * @throws {UpstreamFault} When it holds an error, or is no answer at all.
 */
export function candidatesOf(answer: unknown): Candidate[] {
  if (!parseShape(answer, answerShape) || answer.error !== undefined) throw faultOf(answer);
  const { candidates = [], promptFeedback: feedback } = answer;
  const isBlocked = (feedback?.blockReason ?? feedback?.blockReasonMessage) !== undefined;
  return isBlocked && candidates.length === 0 ? [{ finishReason: "SAFETY" }] : candidates;
}

/** The parts of a candidate as deltas: neighbours of one kind together, a function call whole. Counts them in `given`. */
export function toDeltas(candidate: Candidate, given: Given, reading: CallReading): ChunkChoice["delta"][] {
  const deltas: ChunkChoice["delta"][] = [];
  given.reason = candidate.finishReason ?? given.reason;
  given.sentence = candidate.finishMessage ?? given.sentence;
  for (const part of candidate.content?.parts ?? []) {
    const last = deltas.at(-1);
    if (part.functionCall !== undefined) {
      if (given.calls > 0 && reading.firstOnly) continue;
      deltas.push({ tool_calls: [{ index: given.calls++, ...toToolCall(part, reading) }] });
    } else if (part.text && part.thought === true) {
      if (last?.reasoning_content) last.reasoning_content += part.text;
      else deltas.push({ reasoning_content: part.text });
    } else if (part.text) {
      given.text = true;
      if (last?.content) last.content += part.text;
      else deltas.push({ content: part.text });
    }
  }
  return deltas;
}

/**
 * The counts of an answer. Protobuf leaves zeros out, so a missing output is none when nothing came, and otherwise one
 * that was not counted yet: then there is no usage to rely on.
 */
export function toUsage(usage: GenerateAnswer["usageMetadata"], given: boolean): ChatUsage | undefined {
  const [asked, candidates, thoughts, cached, tools] = counted.map((of) => numberIn(usage?.[`${of}TokenCount`]));
  if (asked === undefined || (candidates === undefined && given)) return undefined;
  const prompt = asked + (tools ?? 0);
  const completion = (candidates ?? 0) + (thoughts ?? 0);
  const result: ChatUsage = { prompt_tokens: prompt, completion_tokens: completion, total_tokens: prompt + completion };
  if (cached !== undefined) result.prompt_tokens_details = { cached_tokens: cached };
  if (thoughts !== undefined) result.completion_tokens_details = { reasoning_tokens: thoughts };
  return result;
}

const counted = ["prompt", "candidates", "thoughts", "cachedContent", "toolUsePrompt"];
const numberIn = (count: unknown) => (typeof count === "number" ? count : undefined);

export function toLogprobs({ logprobsResult: { chosenCandidates: chosen, topCandidates: top } = {} }: Candidate) {
  const topOf = (index: number) => top?.[index]?.candidates?.map(toLogprob) ?? [];
  const content = chosen?.map((token, index) => ({ ...toLogprob(token), top_logprobs: topOf(index) }));
  return content && { content, refusal: null };
}

function toLogprob({ token = "", logProbability: logprob = 0 }: Logprob) {
  return { token, logprob, bytes: [...new TextEncoder().encode(token)] };
}
