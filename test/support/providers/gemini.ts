import { type Asked, type Step, toArguments, toEvent } from "./script.ts";

interface WirePart {
  text?: string;
  functionResponse?: { name: string; response: unknown };
}

/** The part of a generateContent request that a step depends on. */
export interface GenerateBody {
  contents: { role?: string; parts: WirePart[] }[];
  tools?: { functionDeclarations?: { name: string }[] }[];
}

/** Reads https://ai.google.dev/api/generate-content; its newer models sign calls unasked. */
export function readGenerate({ contents, tools = [] }: GenerateBody): Asked {
  const names = tools.flatMap(({ functionDeclarations = [] }) => functionDeclarations.map(({ name }) => name));
  const parts = contents.flatMap((content) => content.parts);
  const result = parts.findLast(({ functionResponse }) => functionResponse !== undefined)?.functionResponse;
  return { tools: names, result: result && JSON.stringify(result.response), thinks: true };
}

export function toGenerated({ thought, text, tool }: Step) {
  const signed = thought === undefined ? {} : { thoughtSignature: thought.signature };
  const parts = [
    ...(text === undefined ? [] : [{ text }]),
    ...(tool === undefined ? [] : [{ functionCall: { name: tool.name, args: toArguments(tool.input) }, ...signed }]),
  ];
  const counts = { promptTokenCount: 100, cachedContentTokenCount: 40, candidatesTokenCount: 20 };
  const usageMetadata = { ...counts, totalTokenCount: 120 };
  return { candidates: [{ index: 0, content: { role: "model", parts }, finishReason: "STOP" }], usageMetadata };
}

export const toGenerateEvents = (answer: ReturnType<typeof toGenerated>): string => toEvent(answer);
