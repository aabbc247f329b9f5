import { type AnswerOf, type Handler, warnOfOthers } from "modelgate/plugin";
import { getOwn } from "../../src/contract/index.ts";
import { toBase64 } from "../../src/lib/base64.ts";
import { generateContent } from "../../src/protocols/generate-content/answers.ts";
import type { GenerateAnswer } from "../../src/protocols/generate-content/schema.ts";

const { expectAllowed, readCandidates, readTokenUsage } = generateContent;
/** Fields of the request, those that the kernel measured, and those that the endpoint handles itself. */
const supportedFields =
  `model file language timestamp_granularities audioMs audioMsMin audioMsMax unknownFields response_format
  stream`.split(/\s+/);
const typesOfEndings: Record<string, string> = { mpga: "mp3", mpeg: "mp3" };

/** https://ai.google.dev/gemini-api/docs/generate-content/transcribe */
export const transcription: Handler<"transcription"> = async (call) => {
  const { file, language, timestamp_granularities: granularities } = call.request;
  warnOfOthers(call.request, supportedFields, call.warn);
  const ending = file.name.split(".").at(-1)?.toLowerCase() as string;
  const data = toBase64(new Uint8Array(await file.arrayBuffer()));
  const body = {
    contents: [
      {
        role: "user",
        parts: [{ inlineData: { mimeType: `audio/${getOwn(typesOfEndings, ending) ?? ending}`, data } }],
      },
    ],
    generationConfig: {
      audioTranscriptionConfig: {
        languageCodes: language && [toCode(language)],
        // Their times cost some accuracy.
        wordTimestamp: granularities?.includes("word") || undefined,
      },
    },
  };
  return fromHeard(await call.upstream.json(`/models/${call.model.upstreamId}:generateContent`, body));
};

/** Adds a region to a language, because the provider requires both. It refuses an invalid language itself. */
function toCode(code: string): string {
  if (!/^[a-z]+(-([A-Za-z]{2}|[A-Za-z]{4}))?$/.test(code)) return code;
  const { language, region } = new Intl.Locale(code).maximize();
  if (language === "zh") return "cmn-Hans-CN";
  return region === undefined ? language : `${language}-${region}`;
}

function fromHeard(answer: GenerateAnswer): AnswerOf<"transcription"> {
  const [candidate = {}] = readCandidates(answer);
  const parts = candidate.content?.parts ?? [];
  const transcriptions = parts.flatMap(({ audioTranscription }) => audioTranscription ?? []);
  const words = transcriptions
    .flatMap(({ words = [] }) => words)
    .map(({ word = "", startOffset = "", endOffset = "" }) => {
      return { word, start: Number.parseFloat(startOffset), end: Number.parseFloat(endOffset) };
    });
  const join = (texts: { text?: string | undefined }[]) => texts.map(({ text = "" }) => text).join("");
  const text = join(parts) || join(transcriptions) || words.map(({ word }) => word).join(" ");
  expectAllowed(candidate, text !== "", "file");
  const isTimed = words.length > 0 && words.every(({ start, end }) => Number.isFinite(start + end));
  return {
    text,
    language: transcriptions[0]?.languageCode,
    words: isTimed ? words : undefined,
    usage: readTokenUsage(answer.usageMetadata, false),
  };
}
