import type { ParsedShape } from "../../lib/parse-shape.ts";

/** A part of a request. https://ai.google.dev/api/generate-content: the members that are written and read here. */
export interface GeneratePart {
  text?: string;
  /** Marks a summary of the model's thinking. */
  thought?: boolean;
  thoughtSignature?: string | undefined;
  inlineData?: { mimeType: string; data: string };
  speechMetadata?: { style: string };
  functionCall?: { name: string; args?: Record<string, unknown>; id?: string };
  functionResponse?: { name: string; response: Record<string, unknown> };
}

export interface GenerateTurn {
  role: "user" | "model";
  parts: GeneratePart[];
}

/** Undefined members are not sent. */
export interface GenerateBody {
  contents: GenerateTurn[];
  systemInstruction?: { parts: GeneratePart[] } | undefined;
  tools?: { functionDeclarations: { name: string; [field: string]: unknown }[] }[];
  toolConfig?: { functionCallingConfig: { mode: string; allowedFunctionNames?: string[] | undefined } } | undefined;
  generationConfig: Record<string, unknown>;
  serviceTier?: string | undefined;
}

const partShape = {
  text: "string",
  thought: "boolean",
  thoughtSignature: "string",
  inlineData: { mimeType: "string", data: "string" },
  audioTranscription: {
    text: "string",
    languageCode: "string",
    words: [{ word: "string", startOffset: "string", endOffset: "string" }],
  },
  functionCall: { name: "string", args: "any", id: "string", willContinue: "boolean", partialArgs: "any" },
} as const;
const logprobShape = { token: "string", logProbability: "number" } as const;
const candidateShape = {
  index: "number",
  content: { parts: [partShape] },
  finishReason: "string",
  finishMessage: "string",
  logprobsResult: { chosenCandidates: [logprobShape], topCandidates: [{ candidates: [logprobShape] }] },
} as const;
export const answerShape = {
  candidates: [candidateShape],
  promptFeedback: { blockReason: "string", blockReasonMessage: "string" },
  usageMetadata: {},
  error: "any",
} as const;

export type GenerateAnswer = ParsedShape<typeof answerShape>;
export type GeneratedCandidate = ParsedShape<typeof candidateShape>;
export type GeneratedPart = ParsedShape<typeof partShape>;
export type GeneratedLogprob = ParsedShape<typeof logprobShape>;
