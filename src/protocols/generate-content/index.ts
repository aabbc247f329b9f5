import type { ChatUsage, FinishReason, ServerEvent, UpstreamFault } from "../../contract/index.ts";
import {
  endedEarly,
  expectAllowed,
  type GeneratedSoFar,
  readCandidates,
  readEvent,
  readServiceTier,
  readTokenUsage,
  readUsage,
  toFinish,
} from "./answer.ts";
import type { GenerateAnswer, GeneratedCandidate } from "./wire.ts";

/** Reads the answers of Google's `generateContent`. */
export interface GenerateContentReader {
  /**
   * An event of a stream, each of which is a whole answer with the next parts.
   *
   * @throws {UpstreamFault} When it is an error, or not JSON.
   */
  readEvent(event: ServerEvent): GenerateAnswer;
  /**
   * The candidates of an answer or of an event. A prompt that was refused has none, and sometimes no reason but a
   * sentence: it is read as a candidate that was filtered.
   *
   * @throws {UpstreamFault} When it holds an error, or is not an answer at all.
   */
  readCandidates(answer: unknown): GeneratedCandidate[];
  /** @throws {UpstreamFault} `bad_response` when the model failed (a malformed function call, for one) and gave nothing. */
  toFinish(given: GeneratedSoFar): FinishReason;
  /**
   * @param param What was asked by.
   * @throws {GatewayError} `invalid_request` when that, or what came of it, was blocked; a fault as `toFinish`.
   */
  expectAllowed(candidate: GeneratedCandidate, hasOutput: boolean, param: string): void;
  /** A stream that stopped before a reason to end came. */
  endedEarly(): UpstreamFault;
  /**
   * The counts of an answer. Protobuf leaves zeros out, so a missing output is none when nothing was `given`, and otherwise
   * one that was not counted yet: then there is no usage to rely on.
   */
  readUsage(metadata: GenerateAnswer["usageMetadata"], given: boolean): ChatUsage | undefined;
  /** The same as pictures, speech and transcripts report it. */
  readTokenUsage(metadata: GenerateAnswer["usageMetadata"], given: boolean): Record<string, unknown> | undefined;
  /** The tier of service by which an answer was made, as OpenAI calls it. */
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
