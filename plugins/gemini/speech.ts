import {
  type AnswerOf,
  type Call,
  type Handler,
  type RequestOf,
  type ServerEvent,
  UpstreamError,
  warnOfOthers,
} from "modelgate/plugin";
import { readBase64 } from "../../src/lib/base64.ts";
import { writeWavHead } from "../../src/lib/wav.ts";
import { generateContent } from "../../src/protocols/generate-content/answers.ts";
import type { GenerateAnswer, GenerateBody, GeneratedCandidate } from "../../src/protocols/generate-content/schema.ts";

type Part = NonNullable<NonNullable<GeneratedCandidate["content"]>["parts"]>[number];
type Warn = Call<unknown>["warn"];

const { endedEarly, expectAllowed, readCandidates, readEvent, readTokenUsage } = generateContent;
const translated = [
  "model",
  "input",
  "voice",
  "instructions",
  "target_language_code",
  "response_format",
  "stream_format",
];

/** https://ai.google.dev/gemini-api/docs/generate-content/speech-generation */
export const speech: Handler<"speech"> = async ({ request, model, upstream, warn }) => {
  const path = `/models/${model.upstreamId}:streamGenerateContent?alt=sse`;
  return readSpeech(await upstream.events(path, toSpeechBody(request, warn)));
};

function toSpeechBody(request: RequestOf<"speech"> & { instructions?: unknown }, warn: Warn): GenerateBody {
  const { input: text, voice, instructions: style, target_language_code: language } = request;
  warnOfOthers(request, translated, warn);
  const voiceConfig = { prebuiltVoiceConfig: { voiceName: voice ?? undefined } };
  const part = { text, ...(typeof style === "string" && style !== "" && { speechMetadata: { style } }) };
  const speechConfig = { voiceConfig, languageCode: language ?? undefined };
  return {
    contents: [{ role: "user", parts: [part] }],
    generationConfig: { responseModalities: ["AUDIO"], speechConfig },
  };
}

/** The samples of a stream as a WAV file, while they come. */
function readSpeech(events: AsyncIterable<ServerEvent>): AnswerOf<"speech"> {
  let usage: GenerateAnswer["usageMetadata"];
  let last: GeneratedCandidate = {};
  let sampleRate: number | undefined;
  const readPart = ({ inlineData: { data, mimeType = "" } = {} }: Part) => {
    if (!data) return [];
    if (sampleRate !== undefined) return [readBase64(data)];
    sampleRate = toSampleRate(mimeType);
    return [writeWavHead({ sampleRate, channels: 1, bitsPerSample: 16 }), readBase64(data)];
  };
  const audio = {
    events,
    push(event: ServerEvent) {
      const answer = readEvent(event);
      const candidates = readCandidates(answer);
      usage = answer.usageMetadata ?? usage;
      return candidates.flatMap((candidate) => {
        if (candidate.finishReason !== undefined) last = candidate;
        return (candidate.content?.parts ?? []).flatMap(readPart);
      });
    },
    end() {
      if (last.finishReason === undefined) throw endedEarly();
      expectAllowed(last, sampleRate !== undefined, "input");
      return [];
    },
  };
  return { audio, readUsage: () => readTokenUsage(usage, true) };
}

/** A stream has samples without a head: `audio/l16; rate=24000; channels=1`. */
function toSampleRate(mediaType: string): number {
  const rate = /^audio\/l16\b.*\brate=(\d{4,6})\b/i.exec(mediaType)?.[1];
  if (rate !== undefined) return Number(rate);
  throw new UpstreamError("bad_response", `The provider answered speech with ${mediaType}`);
}
