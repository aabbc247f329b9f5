import {
  GatewayError,
  isReportable,
  type Model,
  type TranscriptionRequest,
  UpstreamFault,
} from "../../contract/index.ts";
import { readAudioLength } from "../audio/audio-length.ts";
import { tokensMax } from "../normalize/usage.ts";
import { withFailover } from "../routing/failover.ts";
import type { CapabilityHandler } from "../types.ts";

export const transcriptionHandler: CapabilityHandler<"transcription"> = {
  async validate({ request, modelEntry: { model }, caller }, kernel) {
    checkLanguage(request.language, model);
    const { remainingRequests } = await kernel.ledger.readLimitState(caller);
    // A caller over its limit is refused by the admission, whatever the length.
    if (remainingRequests < 1) return;
    Object.assign(request, await readAudioLength(request.file));
    const longest = Math.max(request.audioMs ?? 0, request.audioMsMin as number);
    if (model.audioMsMax === undefined || longest <= model.audioMsMax) return;
    const sentence = `The audio lasts ${(longest / 1000).toFixed(1)} s, but ${model.id} takes at most ${model.audioMsMax / 1000} s; send it in parts`;
    throw new GatewayError("invalid_request", sentence, { param: "file" });
  },

  upperBound: ({ request, modelEntry: { model } }) => ({ audioMs: getLongest(request, model) }),
  promptTokens: ({ request }) => (request.prompt === undefined ? 0 : tokensMax(request.prompt)),

  /** What the file says may raise the estimate, but it does not lower it below what its bytes must play. */
  estimate: async ({ request, modelEntry: { model } }) => {
    const { audioMs, audioMsMin } = request;
    if (audioMs === undefined || audioMsMin === undefined) return { audioMs: getLongest(request, model) };
    return { audioMs: Math.max(audioMs, audioMsMin) };
  },

  async execute(kernel, call) {
    const { request, usageMeter } = call;
    const transcript = await withFailover(kernel, call, {
      requestFor: () => request,
      async run(plugin, pluginCall) {
        const { unknownFields = [] } = request;
        if (unknownFields.length > 0) pluginCall.warn(`Left out ${unknownFields.join(", ")}`, unknownFields);
        const answer = await plugin.handlers.transcription?.(pluginCall);
        if (typeof answer?.text !== "string")
          throw new UpstreamFault("bad_response", "The provider's answer has no text");
        return answer;
      },
    });
    call.firstByteMs = kernel.now() - call.startedMs;
    usageMeter.produced = true;
    usageMeter.complete = true;
    const audioMs = transcript.duration === undefined ? undefined : Math.round(transcript.duration * 1000);
    if (isReportable(audioMs) && audioMs > 0) {
      usageMeter.report({ audioMs: Math.max(audioMs, request.audioMsMin ?? 0) });
    }
    return transcript;
  },
};

/** The most that the file can play and the model takes. */
function getLongest({ audioMsMax, file }: TranscriptionRequest, model: Model): number {
  return Math.min(audioMsMax ?? file.size, model.audioMsMax ?? Number.POSITIVE_INFINITY);
}

function checkLanguage(language: string | undefined, { id, languages }: Model): void {
  if (language === undefined || languages === undefined) return;
  if (languages.some((code) => code === language || code.split("-")[0] === language)) return;
  const sentence = `language is '${language}', but ${id} takes: ${languages.join(", ")}`;
  throw new GatewayError("invalid_request", sentence, { param: "language" });
}
