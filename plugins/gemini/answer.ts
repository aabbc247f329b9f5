import {
  type ChatChunk,
  type ChatCompletion,
  type ChatUsage,
  type ChunkChoice,
  classifyError,
  classifyFault,
  type FinishReason,
  isRecord,
  parseJson,
  parseShape,
  type RefusedResponse,
  type ServerEvent,
  type ToolCall,
  UpstreamFault,
} from "modelgate/plugin";
import { type CallReading, toToolCall } from "./tools.ts";
import { answerShape, type Candidate, type GenerateAnswer, type Logprob } from "./wire.ts";

/** The provider's own sentences of these kinds name the gateway's project, quotas and region. */
const sentences: Record<string, string> = {
  auth: "The provider refused the gateway's credential, account or location",
  insufficient_quota: "The gateway's account with the provider is used up",
  rate_limited: "The provider's rate limit for this model is reached",
};

/** Reads a refusal: https://ai.google.dev/gemini-api/docs/troubleshooting */
export const readFault = (answer: RefusedResponse) => refine(classifyFault(answer), parseJson(answer.body));
/** Reads an error out of a 200 answer or a stream. */
export const readError = (body: unknown) => refine(classifyError(body), body);

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
 * @throws {UpstreamFault} When it holds an error, or is not an answer at all.
 */
export function readCandidates(answer: unknown): Candidate[] {
  if (!parseShape(answer, answerShape) || answer.error !== undefined) throw readError(answer);
  const { candidates = [], promptFeedback: feedback } = answer;
  const isBlocked = (feedback?.blockReason ?? feedback?.blockReasonMessage) !== undefined;
  return isBlocked && candidates.length === 0 ? [{ finishReason: "SAFETY" }] : candidates;
}

/** The parts of a candidate as deltas: neighbours of one kind together, a function call whole. Counts them in `given`. */
function toDeltas(candidate: Candidate, given: Given, reading: CallReading): ChunkChoice["delta"][] {
  const deltas: ChunkChoice["delta"][] = [];
  given.reason = candidate.finishReason ?? given.reason;
  given.sentence = candidate.finishMessage ?? given.sentence;
  for (const part of candidate.content?.parts ?? []) {
    const last = deltas.at(-1);
    if (part.functionCall !== undefined) {
      if (part.functionCall.willContinue || part.functionCall.partialArgs) throw readError("A tool call came in parts");
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
function toUsage(usage: GenerateAnswer["usageMetadata"], given: boolean): ChatUsage | undefined {
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

function toLogprobs({ logprobsResult: { chosenCandidates: chosen, topCandidates: top } = {} }: Candidate) {
  const getTop = (index: number) => top?.[index]?.candidates?.map(toLogprob) ?? [];
  const content = chosen?.map((token, index) => ({ ...toLogprob(token), top_logprobs: getTop(index) }));
  return content && { content, refusal: null };
}

function toLogprob({ token = "", logProbability: logprob = 0 }: Logprob) {
  return { token, logprob, bytes: [...new TextEncoder().encode(token)] };
}

/** A whole answer. Id, time and model name are the kernel's. */
export function fromCandidates(answer: GenerateAnswer, reading: CallReading): ChatCompletion {
  const candidates = readCandidates(answer);
  if (candidates.length === 0) throw new UpstreamFault("bad_response", "The provider's answer has no candidates");
  const choices = candidates.map((candidate, position) => toChoice(candidate, position, reading));
  const hasOutput = choices.some(({ message }) => message.content || message.tool_calls);
  const usage = toUsage(answer.usageMetadata, hasOutput);
  return { id: "", object: "chat.completion", created: 0, model: "", choices, ...(usage && { usage }) };
}

function toChoice(candidate: Candidate, position: number, reading: CallReading): ChatCompletion["choices"][number] {
  const given: Given = { text: false, calls: 0 };
  const deltas = toDeltas(candidate, given, reading);
  const finish = toFinish(given);
  const content = deltas.map((delta) => delta.content ?? "").join("");
  const reasoning = deltas.map((delta) => delta.reasoning_content ?? "").join("");
  const calls = deltas.flatMap((delta) => delta.tool_calls ?? []).map(({ index: _, ...call }) => call as ToolCall);
  const isSilent = !given.text && (calls.length > 0 || finish === "content_filter");
  const message: ChatCompletion["choices"][number]["message"] = {
    role: "assistant",
    content: isSilent ? null : content,
    ...(reasoning !== "" && { reasoning_content: reasoning }),
    ...(calls.length > 0 && { tool_calls: calls }),
  };
  const choice = { index: candidate.index ?? position, message, finish_reason: finish };
  return Object.assign(choice, { logprobs: toLogprobs(candidate) ?? null });
}

/**
 * A streamed answer. Each event is a whole answer with the next parts. The usage so far goes along with every chunk, so
 * that a broken stream can be charged by it.
 *
 * @throws {UpstreamFault} When the stream holds an error, is not JSON, or ends before the model has finished.
 */
export async function* fromEvents(events: AsyncIterable<ServerEvent>, reading: CallReading): AsyncGenerator<ChatChunk> {
  const choices = new Map<number, Given>();
  let usage: GenerateAnswer["usageMetadata"];
  for await (const event of events) {
    const answer = readEvent(event);
    const candidates = readCandidates(answer);
    usage = answer.usageMetadata ?? usage;
    const usageSoFar = toUsage(usage, true);
    for (const candidate of candidates) {
      const index = candidate.index ?? 0;
      let given = choices.get(index);
      if (given === undefined) {
        given = { text: false, calls: 0 };
        choices.set(index, given);
        yield { choices: [{ index, delta: { role: "assistant", content: "" } }] };
      }
      let logprobs = toLogprobs(candidate);
      for (const delta of toDeltas(candidate, given, reading)) {
        const chunk: ChatChunk = { choices: [{ index, delta, logprobs: delta.content ? logprobs : undefined }] };
        if (delta.content) logprobs = undefined;
        if (usageSoFar !== undefined) chunk.usage = usageSoFar;
        yield chunk;
      }
    }
  }
  const ended = [...choices];
  if (ended.length === 0 || ended.some(([, given]) => given.reason === undefined)) {
    throw new UpstreamFault("bad_response", "The provider's stream ended before the answer was complete");
  }
  // Only now: some models name a reason on every event, and the last stands.
  for (const [index, given] of ended) yield { choices: [{ index, delta: {}, finish_reason: toFinish(given) }] };
  const hasOutput = ended.some(([, { text, calls }]) => text || calls > 0);
  const total = toUsage(usage, hasOutput);
  if (total !== undefined) yield { choices: [], usage: total };
}

function readEvent({ event, data }: ServerEvent): GenerateAnswer {
  const answer = parseJson(data);
  if (event === "raw") throw readError(answer ?? data);
  if (answer !== undefined) return answer as GenerateAnswer;
  throw new UpstreamFault("bad_response", "A piece of the provider's stream is not JSON");
}
