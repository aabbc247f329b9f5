import {
  GatewayError,
  getBasicMeters,
  isReportable,
  type Meters,
  toTokenMeters,
  UpstreamError,
} from "../../contract/index.ts";
import { getDisplayName, type Model, type Transcript, type TranscriptionRequest } from "../../provider/index.ts";
import { readAudioLength } from "../audio/audio-length.ts";
import { withFailover } from "../failover.ts";
import { tokensMax } from "../normalize/prompt-bounds.ts";
import { countTokens } from "../normalize/tokenizer.ts";
import type { CapabilityHandler } from "../types.ts";

/** OpenAI counts a token for each tenth of a second of audio, others up to 32 a second. */
const audioTokensPerSecond = 10;
const audioTokensPerSecondMax = 32;
/** More than anyone speaks, in any script. */
const spokenTokensPerSecondMax = 16;
/** More characters per second than anyone speaks, in any script. */
const charactersPerSecondMax = 64;
/** The longest file of a model that does not say what it takes, where its length cannot be counted: four hours. */
const audioMsDefault = 14_400_000;
/** Tokens that a provider counts on top of the words of a prompt. */
const extraTokens = 64;

const handler: CapabilityHandler<"transcription" | "translation"> = {
  async validate({ request, modelEntry: { model }, caller }, kernel) {
    checkLanguage(request.language, model);
    const { remainingRequests } = await kernel.ledger.readLimitState(caller);
    // A caller over its limit is refused by the admission, whatever the length.
    if (remainingRequests < 1) return undefined;
    Object.assign(request, await readAudioLength(request.file));
    const longest = Math.max(request.audioMs ?? 0, request.audioMsMin as number);
    if (model.audioMsMax === undefined || longest <= model.audioMsMax) return undefined;
    const message = `The audio lasts ${(longest / 1000).toFixed(1)} s, but ${getDisplayName(model)} takes at most ${model.audioMsMax / 1000} s; send it in parts`;
    throw new GatewayError("invalid_request", message, { param: "file" });
  },

  upperBound({ request, modelEntry: { model } }) {
    const audioMs = getLongest(request, model);
    if (!isByToken(model)) return { upper: { audioMs } };
    return {
      upper: {
        inputToken: tokensMax(request.prompt ?? "") + extraTokens,
        audioInputToken: toTokens(audioMs, audioTokensPerSecondMax),
        outputToken: Math.max(model.outputTokensMax ?? 0, toTokens(audioMs, spokenTokensPerSecondMax)),
      },
    };
  },
  promptTokens: ({ request }) => (request.prompt === undefined ? 0 : tokensMax(request.prompt)),

  toReport: ({ modelEntry: { model } }, usage) =>
    isByToken(model) ? toTokenMeters(usage, { input: "audio_tokens", output: "text_tokens" }) : undefined,

  /**
   * Without a report, what the file says of its length stands for a file that cannot be counted, if its whole text came: the
   * words take a time to be spoken. Otherwise it is charged as the longest that it can be.
   */
  estimate: async ({ request, modelEntry: { model }, usageMeter: { output, complete } }) => {
    const { audioMs: declaredMs, audioMsMin = 0, audioMsMax } = request;
    const isKnown = declaredMs !== undefined && (audioMsMax !== undefined || complete);
    const spokenMs = (output.sample.length / charactersPerSecondMax) * 1000;
    const audioMs = isKnown ? Math.max(declaredMs, audioMsMin, Math.ceil(spokenMs)) : getLongest(request, model);
    if (!isByToken(model)) return { audioMs };
    return {
      inputToken: await countTokens(request.prompt ?? ""),
      audioInputToken: toTokens(audioMs, audioTokensPerSecond),
      outputToken: await countTokens(output.sample.text, output.sample.length),
    };
  },

  async execute(kernel, run) {
    const { request, usageMeter } = run;
    const transcript = await withFailover(kernel, run, {
      requestFor: () => request,
      async run(plugin, pluginCall) {
        const { unknownFields = [] } = request;
        if (unknownFields.length > 0) pluginCall.warn(`Left out ${unknownFields.join(", ")}`, unknownFields);
        const answer = await plugin.handlers[run.call.request.capability]?.(pluginCall);
        if (typeof answer?.text !== "string")
          throw new UpstreamError("bad_response", "The provider's answer has no text");
        return answer;
      },
    });
    usageMeter.produced = true;
    usageMeter.complete = true;
    usageMeter.output.sample.add(transcript.text);
    const meters = isByToken(run.modelEntry.model)
      ? toTokenMeters(transcript.usage, { input: "audio_tokens", output: "text_tokens" })
      : toLength(transcript, request);
    if (meters !== undefined) usageMeter.report(meters, transcript.usage);
    return transcript;
  },
};

export const transcriptionCapability = handler as unknown as CapabilityHandler<"transcription">;
/** A translation is a transcript in English, by a handler of its own. */
export const translationCapability = handler as unknown as CapabilityHandler<"translation">;

const isByToken = ({ price }: Model) => !getBasicMeters("transcription", price).includes("audioMs");

const toTokens = (audioMs: number, perSecond: number) => Math.ceil((audioMs / 1000) * perSecond);

/** The length that the provider says, which the bytes can only raise. */
function toLength({ duration }: Transcript, { audioMsMin = 0 }: TranscriptionRequest): Meters | undefined {
  const audioMs = duration === undefined ? undefined : Math.round(duration * 1000);
  return isReportable(audioMs) && audioMs > 0 ? { audioMs: Math.max(audioMs, audioMsMin) } : undefined;
}

/** The most that the file can play and the model takes. */
function getLongest({ audioMsMax }: TranscriptionRequest, model: Model): number {
  if (audioMsMax === undefined) return model.audioMsMax ?? audioMsDefault;
  return Math.min(audioMsMax, model.audioMsMax ?? Number.POSITIVE_INFINITY);
}

function checkLanguage(language: string | undefined, model: Model): void {
  const { languages } = model;
  if (language === undefined || languages === undefined) return;
  if (languages.some((code) => code === language || code.split("-")[0] === language)) return;
  const message = `language is '${language}', but ${getDisplayName(model)} takes: ${languages.join(", ")}`;
  throw new GatewayError("invalid_request", message, { param: "language" });
}
