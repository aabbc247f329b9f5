import {
  type AnswerUsage,
  type ChatChunk,
  type ChatCompletion,
  type ChunkChoice,
  type ServerEvent,
  UpstreamFault,
} from "../../../contract/index.ts";
import { classifyError } from "../../fault.ts";
import { isRecord } from "../../json.ts";
import { toCompletion } from "../../to-completion.ts";
import type { GeneratedSoFar } from "../generate-content/answer.ts";
import { generateContent } from "../generate-content/index.ts";
import type { GenerateAnswer, GeneratedCandidate, GeneratedLogprob } from "../generate-content/wire.ts";
import { type CallReading, toToolCall } from "./tools.ts";

const { endedEarly, readCandidates, readEvent, readServiceTier, readTokenUsage, readUsage, toFinish } = generateContent;

/** The parts of a candidate as deltas: neighbours of one kind together, a function call whole. Counts them in `given`. */
function toDeltas(candidate: GeneratedCandidate, given: GeneratedSoFar, reading: CallReading): ChunkChoice["delta"][] {
  const deltas: ChunkChoice["delta"][] = [];
  given.reason = candidate.finishReason ?? given.reason;
  given.sentence = candidate.finishMessage ?? given.sentence;
  for (const part of candidate.content?.parts ?? []) {
    const last = deltas.at(-1);
    if (part.functionCall !== undefined) {
      if (part.functionCall.willContinue || part.functionCall.partialArgs)
        throw classifyError("A tool call came in parts");
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

function toLogprobs({ logprobsResult: { chosenCandidates: chosen, topCandidates: top } = {} }: GeneratedCandidate) {
  const getTop = (index: number) => top?.[index]?.candidates?.map(toLogprob) ?? [];
  const content = chosen?.map((token, index) => ({ ...toLogprob(token), top_logprobs: getTop(index) }));
  return content && { content, refusal: null };
}

function toLogprob({ token = "", logProbability: logprob = 0 }: GeneratedLogprob) {
  return { token, logprob, bytes: [...new TextEncoder().encode(token)] };
}

/** What an answer costs, as far as it says so, and the tier of service by which it was made. */
function toBill(metadata: GenerateAnswer["usageMetadata"], given: boolean) {
  const [usage, tier] = [readUsage(metadata, given), readServiceTier(metadata)];
  return { ...(usage && { usage }), ...(tier && { service_tier: tier }) };
}

/** What an answer, or an event, reports before it is read. Words without a picture are not drawn. */
export function readAnswerUsage(part: Record<string, unknown>, before?: AnswerUsage): AnswerUsage | undefined {
  const { usageMetadata: metadata, candidates } = part as GenerateAnswer;
  const usage = isRecord(metadata) ? readTokenUsage(metadata, false) : undefined;
  if (usage === undefined) return before;
  const parts = [candidates].flat().flatMap((candidate) => candidate?.content?.parts ?? []);
  const isWords = parts.some(({ text }) => text) && !parts.some(({ inlineData }) => inlineData?.data);
  const details = { ...(isWords && { image_tokens: 0 }), ...(usage.output_tokens_details as object | undefined) };
  return { ...readUsage(metadata, false), ...usage, output_tokens_details: details } as AnswerUsage;
}

/** Reads the answers of one call in their order: the events of a stream, or a whole one. */
class AnswerReader {
  readonly choices = new Map<number, GeneratedSoFar>();
  #metadata: GenerateAnswer["usageMetadata"];

  readonly #reading: CallReading;

  constructor(reading: CallReading) {
    this.#reading = reading;
  }

  /** The usage so far goes along with every chunk, so that a broken stream can be charged by it. */
  *read(answer: GenerateAnswer): Generator<ChatChunk> {
    const candidates = readCandidates(answer);
    this.#metadata = answer.usageMetadata ?? this.#metadata;
    for (const [position, candidate] of candidates.entries()) {
      const index = candidate.index ?? position;
      let given = this.choices.get(index);
      if (given === undefined) {
        given = { text: false, calls: 0 };
        this.choices.set(index, given);
        yield { choices: [{ index, delta: { role: "assistant", content: "" } }] };
      }
      let logprobs = toLogprobs(candidate);
      for (const delta of toDeltas(candidate, given, this.#reading)) {
        const choice: ChunkChoice = { index, delta, logprobs: delta.content ? logprobs : undefined };
        if (delta.content) logprobs = undefined;
        yield { choices: [choice], ...toBill(this.#metadata, true) };
      }
    }
  }

  /** Only now: some models name a reason on every event, and the last stands. */
  *end(): Generator<ChatChunk> {
    for (const [index, given] of this.choices)
      yield { choices: [{ index, delta: {}, finish_reason: toFinish(given) }] };
    const hasOutput = [...this.choices.values()].some(({ text, calls }) => text || calls > 0);
    const bill = toBill(this.#metadata, hasOutput);
    if (bill.usage !== undefined) yield { choices: [], ...bill };
  }
}

/** A whole answer. Id, time and model name are the kernel's. */
export function fromCandidates(answer: GenerateAnswer, reading: CallReading): ChatCompletion {
  const reader = new AnswerReader(reading);
  const chunks = [...reader.read(answer)];
  if (chunks.length === 0) throw new UpstreamFault("bad_response", "The provider's answer has no candidates");
  return toCompletion([...chunks, ...reader.end()]);
}

/**
 * A streamed answer. Each event is a whole answer with the next parts.
 *
 * @throws {UpstreamFault} When the stream holds an error, is not JSON, or ends before the model has finished.
 */
export async function* fromEvents(events: AsyncIterable<ServerEvent>, reading: CallReading): AsyncGenerator<ChatChunk> {
  const reader = new AnswerReader(reading);
  for await (const event of events) yield* reader.read(readEvent(event));
  const choices = [...reader.choices.values()];
  if (choices.length === 0 || choices.some(({ reason }) => reason === undefined)) throw endedEarly();
  yield* reader.end();
}
