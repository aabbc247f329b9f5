import { type ChatUsage, countOutput, GatewayError, getOwn, isAmount, UpstreamError } from "../../contract/index.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { parseShape } from "../../lib/parse-shape.ts";
import {
  type AnswerUsage,
  type ChatChunk,
  type ChatCompletion,
  type ChatStream,
  type ChunkChoice,
  type FinishReason,
  judgeFinish,
  type ServerEvent,
  type ToolCall,
  toFigures,
  toFinishReason,
} from "../../provider/index.ts";
import { classifyError } from "../upstream-errors.ts";
import { answerShape, type GenerateAnswer, type GeneratedCandidate, type GeneratedLogprob } from "./schema.ts";
import { type CallReading, toToolCall } from "./tools.ts";

/** Output of one choice of an answer so far, and its finish reason. */
export interface GeneratedSoFar {
  text: boolean;
  calls: number;
  reason?: string | undefined;
  /** The provider's message on the reason. */
  finishMessage?: string | undefined;
}

function toFinish({ reason, finishMessage: message, text, calls }: GeneratedSoFar): FinishReason {
  const hasOutput = text || calls > 0;
  return judgeFinish(reason ?? (hasOutput ? "STOP" : "OTHER"), { hasOutput, hasCalls: calls > 0, message });
}

function expectAllowed(
  { finishReason: reason, finishMessage }: GeneratedCandidate,
  hasOutput: boolean,
  param: string,
): void {
  const finish = toFinish({ reason, finishMessage, text: hasOutput, calls: 0 });
  if (finish !== "content_filter") return;
  const message = `The provider's safety system refused this (${reason}): change the ${param}`;
  throw new GatewayError("invalid_request", message, { param, publicCode: "content_policy_violation" });
}

function readCandidates(answer: unknown): GeneratedCandidate[] {
  if (!parseShape(answer, answerShape) || answer.error !== undefined) throw classifyError(answer);
  const { candidates = [], promptFeedback: feedback } = answer;
  const isBlocked = (feedback?.blockReason ?? feedback?.blockReasonMessage) !== undefined;
  return isBlocked && candidates.length === 0 ? [{ finishReason: "SAFETY" }] : candidates;
}

function readUsage(reported: GenerateAnswer["usageMetadata"], hasAnswered: boolean): ChatUsage | undefined {
  const metadata = toFigures(reported);
  const [requested, candidates, thoughts, cached, tools] = counted.map((of) => numberIn(metadata?.[`${of}TokenCount`]));
  if (requested === undefined || (candidates === undefined && hasAnswered)) return undefined;
  const prompt = requested + (tools ?? 0);
  const total = metadata?.totalTokenCount;
  const completion = countOutput({ prompt, output: (candidates ?? 0) + (thoughts ?? 0), total });
  const images = tokensOf("IMAGE", metadata?.candidatesTokensDetails);
  // More of it than there are tokens is a mistake in the division, not in the sum.
  const audio = atMost(tokensOf("AUDIO", metadata?.promptTokensDetails), prompt);
  const cachedAudio = atMost(tokensOf("AUDIO", metadata?.cacheTokensDetails), Math.min(audio ?? 0, cached ?? 0));
  const details = {
    ...(thoughts !== undefined && { reasoning_tokens: thoughts }),
    ...(images !== undefined && { image_tokens: images }),
  };
  const promptDetails = {
    ...(cached !== undefined && { cached_tokens: cached }),
    ...(audio && { audio_tokens: audio }),
    ...(cachedAudio && { cached_tokens_details: { audio_tokens: cachedAudio } }),
  };
  return {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
    ...(Object.keys(promptDetails).length > 0 && { prompt_tokens_details: promptDetails }),
    ...(Object.keys(details).length > 0 && { completion_tokens_details: details }),
  };
}

function readTokenUsage(
  metadata: GenerateAnswer["usageMetadata"],
  hasAnswered: boolean,
): Record<string, unknown> | undefined {
  const usage = readUsage(metadata, hasAnswered);
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
/** The tokens of one kind in a list that divides them: https://ai.google.dev/api/generate-content#ModalityTokenCount. */
function tokensOf(modality: string, details: unknown): number | undefined {
  let tokens: number | undefined;
  for (const part of [details].flat()) {
    if (!isRecord(part) || part.modality !== modality) continue;
    if (isAmount(part.tokenCount)) tokens = (tokens ?? 0) + part.tokenCount;
  }
  return tokens;
}

const atMost = (tokens: number | undefined, most: number) =>
  tokens === undefined ? undefined : Math.min(tokens, most);

const numberIn = (count: unknown) => (typeof count === "number" ? count : undefined);

/**
 * The provider's names of its tiers. https://ai.google.dev/gemini-api/docs/priority-inference for the Gemini API,
 * https://cloud.google.com/vertex-ai/generative-ai/docs/reference/rest/v1/GenerateContentResponse#TrafficType for Vertex AI.
 */
const tiers: Record<string, string> = {
  standard: "default",
  flex: "flex",
  priority: "priority",
  ON_DEMAND: "default",
  ON_DEMAND_FLEX: "flex",
  ON_DEMAND_PRIORITY: "priority",
  PROVISIONED_THROUGHPUT: "scale",
};

const readServiceTier = (metadata: GenerateAnswer["usageMetadata"]) => {
  const tier: unknown = metadata?.serviceTier ?? metadata?.trafficType;
  return typeof tier === "string" ? getOwn(tiers, tier) : undefined;
};

function readEvent({ event, data }: ServerEvent): GenerateAnswer {
  const answer = parseJson(data, "event");
  if (event === "raw") throw classifyError(answer ?? data);
  if (answer !== undefined) return answer as GenerateAnswer;
  throw new UpstreamError("bad_response", "A piece of the provider's stream is not JSON");
}

const endedEarly = () =>
  new UpstreamError("bad_response", "The provider's stream ended before the answer was complete");

/** The parts of a candidate as deltas: neighbours of one kind together, a function call whole. Counts them in `given`. */
function toDeltas(candidate: GeneratedCandidate, output: GeneratedSoFar, reading: CallReading): ChunkChoice["delta"][] {
  const deltas: ChunkChoice["delta"][] = [];
  output.reason = candidate.finishReason ?? output.reason;
  output.finishMessage = candidate.finishMessage ?? output.finishMessage;
  for (const part of candidate.content?.parts ?? []) {
    const last = deltas.at(-1);
    if (part.functionCall !== undefined) {
      if (part.functionCall.willContinue || part.functionCall.partialArgs)
        throw classifyError("A tool call came in parts");
      if (output.calls > 0 && reading.firstOnly) continue;
      deltas.push({ tool_calls: [{ index: output.calls++, ...toToolCall(part, reading) }] });
    } else if (part.text && part.thought === true) {
      if (last?.reasoning_content) last.reasoning_content += part.text;
      else deltas.push({ reasoning_content: part.text });
    } else if (part.text) {
      output.text = true;
      if (last?.content) last.content += part.text;
      else deltas.push({ content: part.text });
    }
  }
  return deltas;
}

function toLogprobs({ logprobsResult: { chosenCandidates: chosen, topCandidates: top } = {} }: GeneratedCandidate) {
  const getTop = (index: number) => top?.[index]?.candidates?.map(toLogprob) ?? [];
  const content = chosen?.map((token, index) => ({ ...toLogprob(token), top_logprobs: getTop(index) }));
  return content && { content, refusal: null };
}

function toLogprob({ token = "", logProbability: logprob = 0 }: GeneratedLogprob) {
  return { token, logprob, bytes: [...new TextEncoder().encode(token)] };
}

/** Usage of an answer as far as it reports one, and its service tier. */
function toBill(metadata: GenerateAnswer["usageMetadata"], hasAnswered: boolean) {
  const [usage, tier] = [readUsage(metadata, hasAnswered), readServiceTier(metadata)];
  return { ...(usage && { usage }), ...(tier && { service_tier: tier }) };
}

/** Reads the usage of an answer or an event. Text without an image is not an image. */
export function readAnswerUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const { usageMetadata: metadata, candidates } = part as GenerateAnswer;
  const usage = isRecord(metadata) ? readTokenUsage(metadata, false) : undefined;
  if (usage === undefined) return before;
  const parts = [candidates].flat().flatMap((candidate) => candidate?.content?.parts ?? []);
  const isWords = parts.some(({ text }) => text) && !parts.some(({ inlineData }) => inlineData?.data);
  const details = { ...(isWords && { image_tokens: 0 }), ...(usage.output_tokens_details as object | undefined) };
  return { ...readUsage(metadata, false), ...usage, output_tokens_details: details } as AnswerUsage;
}

/**
 * Translates the answers of one call in their order: the events of a stream, or a single whole answer. Each event is a
 * whole answer with the next parts.
 *
 * @throws {UpstreamError} When an answer holds an error or is not JSON, or when the last one comes before the model has
 * finished.
 */
export class GenerateContentStream implements ChatStream<ServerEvent> {
  readonly events: ChatStream<ServerEvent>["events"];
  readonly #choices = new Map<number, GeneratedSoFar>();
  readonly #reading: CallReading;
  #metadata: GenerateAnswer["usageMetadata"];

  constructor(events: ChatStream<ServerEvent>["events"], reading: CallReading) {
    this.events = events;
    this.#reading = reading;
  }

  push(event: ServerEvent): ChatChunk[] {
    return this.read(readEvent(event));
  }

  /** Every chunk carries the usage so far, because a broken stream is charged by it. */
  read(answer: GenerateAnswer): ChatChunk[] {
    const candidates = readCandidates(answer);
    const chunks: ChatChunk[] = [];
    this.#metadata = answer.usageMetadata ?? this.#metadata;
    for (const [position, candidate] of candidates.entries()) {
      const index = candidate.index ?? position;
      let output = this.#choices.get(index);
      if (output === undefined) {
        output = { text: false, calls: 0 };
        this.#choices.set(index, output);
        chunks.push({ choices: [{ index, delta: { role: "assistant", content: "" } }] });
      }
      let logprobs = toLogprobs(candidate);
      for (const delta of toDeltas(candidate, output, this.#reading)) {
        const choice: ChunkChoice = { index, delta, logprobs: delta.content ? logprobs : undefined };
        if (delta.content) logprobs = undefined;
        chunks.push({ choices: [choice], ...toBill(this.#metadata, true) });
      }
    }
    return chunks;
  }

  end(): ChatChunk[] {
    const choices = [...this.#choices.values()];
    if (choices.length === 0 || choices.some(({ reason }) => reason === undefined)) throw endedEarly();
    return this.finish();
  }

  /**
   * The finish reasons and the usage. They come last, because some models send a reason with every event, and only the
   * last one is valid.
   */
  finish(): ChatChunk[] {
    const chunks = [...this.#choices].map(([index, output]): ChatChunk => {
      // Here a failure has the provider's message. A word that is not known is left to the kernel, which reports it.
      toFinish(output);
      const reason = toFinishReason(output.reason, output.calls > 0);
      return { choices: [{ index, delta: {}, finish_reason: reason }] };
    });
    const hasOutput = [...this.#choices.values()].some(({ text, calls }) => text || calls > 0);
    const bill = toBill(this.#metadata, hasOutput);
    if (bill.usage !== undefined) chunks.push({ choices: [], ...bill });
    return chunks;
  }
}

/** A whole answer. Id, time and model name are the kernel's. */
export function fromCandidates(answer: GenerateAnswer, reading: CallReading): ChatCompletion {
  const stream = new GenerateContentStream([], reading);
  const chunks = stream.read(answer);
  if (chunks.length === 0) throw new UpstreamError("bad_response", "The provider's answer has no candidates");
  return toCompletion([...chunks, ...stream.finish()]);
}

/** A choice of a whole answer, with the log probabilities of its tokens. */
type Choice = ChatCompletion["choices"][number] & { logprobs: { content: unknown[]; refusal: null } | null };

/** The chunks of one answer as a completion. Each tool call is in one piece. */
function toCompletion(chunks: Iterable<ChatChunk>): ChatCompletion {
  const choices = new Map<number, Choice>();
  const completion: ChatCompletion = { id: "", object: "chat.completion", created: 0, model: "", choices: [] };
  for (const { choices: pieces, usage, service_tier: tier } of chunks) {
    for (const piece of pieces) {
      const message: Choice["message"] = { role: "assistant", content: null };
      const choice = choices.get(piece.index) ?? { index: piece.index, message, finish_reason: null, logprobs: null };
      choices.set(piece.index, choice);
      addPiece(choice, piece);
    }
    if (usage) completion.usage = usage;
    if (typeof tier === "string") Object.assign(completion, { service_tier: tier });
  }
  completion.choices = [...choices.values()];
  for (const { message, finish_reason: finish } of completion.choices) {
    if (message.tool_calls === undefined && finish !== "content_filter") message.content ??= "";
  }
  return completion;
}

function addPiece(choice: Choice, { delta, logprobs, finish_reason: finish }: ChunkChoice): void {
  const { message } = choice;
  const { content, reasoning_content: reasoning, tool_calls: calls = [] } = delta;
  if (content) message.content = (message.content ?? "") + content;
  if (reasoning) message.reasoning_content = (message.reasoning_content ?? "") + reasoning;
  for (const { index: _, ...call } of calls) {
    message.tool_calls ??= [];
    message.tool_calls.push(call as ToolCall);
  }
  if (isRecord(logprobs) && Array.isArray(logprobs.content)) {
    choice.logprobs ??= { content: [], refusal: null };
    for (const one of logprobs.content) choice.logprobs.content.push(one);
  }
  choice.finish_reason = finish ?? choice.finish_reason;
}

/** Reads the answers of Google's `generateContent`. */
export interface GenerateContentReader {
  /**
   * Reads an event of a stream. Each is a whole answer with the next parts.
   *
   * @throws {UpstreamError} When it is an error, or not JSON.
   */
  readEvent(event: ServerEvent): GenerateAnswer;
  /**
   * Reads the candidates of an answer or of an event. A refused prompt has no candidates, and sometimes only a message
   * instead of a reason: it is read as a candidate that was filtered.
   *
   * @throws {UpstreamError} When it holds an error, or is not an answer at all.
   */
  readCandidates(answer: unknown): GeneratedCandidate[];
  /** @throws {UpstreamError} `bad_response` when the provider failed, or the model (a malformed function call, for one) and gave nothing. */
  toFinish(output: GeneratedSoFar): FinishReason;
  /**
   * @param param The field of the request to name in the error.
   * @throws {GatewayError} `invalid_request` when the request or its result was blocked; otherwise the errors of
   * `toFinish`.
   */
  expectAllowed(candidate: GeneratedCandidate, hasOutput: boolean, param: string): void;
  /** A stream that stopped before a reason to end came. */
  endedEarly(): UpstreamError;
  /**
   * Reads the counts of an answer. Protobuf leaves zeros out, so an absent output count is ambiguous. Without an answer
   * it means 0. With `hasAnswered` it means that the output was not counted yet, so there is no usage.
   */
  readUsage(metadata: GenerateAnswer["usageMetadata"], hasAnswered: boolean): ChatUsage | undefined;
  /** Reads the counts of an answer in the form of the usage of images, speech and transcripts. */
  readTokenUsage(metadata: GenerateAnswer["usageMetadata"], hasAnswered: boolean): Record<string, unknown> | undefined;
  /** Reads the service tier of an answer, by OpenAI's name. */
  readServiceTier(metadata: GenerateAnswer["usageMetadata"]): string | undefined;
}

/**
 * For providers that speak Google's `generateContent`, as the Gemini API and Vertex AI do.
 *
 * @example
 * generateContent.toFinish({ reason: "MAX_TOKENS", text: true, calls: 0 }); // => "length"
 */
export const generateContent: GenerateContentReader = {
  readEvent,
  readCandidates,
  toFinish,
  expectAllowed,
  endedEarly,
  readUsage,
  readTokenUsage,
  readServiceTier,
};
