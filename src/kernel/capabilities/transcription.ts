import {
  GatewayError,
  isAmount,
  type Meters,
  type Transcript,
  type TranscriptionRequest,
  UpstreamFault,
} from "../../contract/index.ts";
import { tokensMax } from "../normalize/token-counts.ts";
import { attempt } from "../routing/failover.ts";
import type { CapabilityHandler } from "../trade.ts";

/** What is held for audio that does not say its length: one millisecond a byte, as at 8 kbit/s. */
const msPerByteAtMost = 1;

export const transcriptionCapability: CapabilityHandler<TranscriptionRequest, Transcript, never> = {
  check(request, { model }) {
    const { audioMs, language } = request;
    if (model.audioMsMax !== undefined && audioMs !== undefined && audioMs > model.audioMsMax) {
      const sentence = `The audio lasts ${(audioMs / 1000).toFixed(1)} s, but ${model.id} takes at most ${model.audioMsMax / 1000} s; send it in parts`;
      throw new GatewayError("invalid_request", sentence, { param: "file" });
    }
    if (language === undefined || model.languages === undefined) return;
    if (model.languages.some((code) => code === language || code.split("-")[0] === language)) return;
    const sentence = `language is '${language}', but ${model.id} takes: ${model.languages.join(", ")}`;
    throw new GatewayError("invalid_request", sentence, { param: "language" });
  },

  worstCase: (request, { model }) => lengthOf(request, model.audioMsMax),
  promptTokens: (request) => (request.prompt === undefined ? 0 : tokensMax(request.prompt)),
  estimate: async (request, _, { model }) => lengthOf(request, model.audioMsMax),

  async serve({ kernel, modelEntry, request, progress, usageMeter }) {
    const transcript = await attempt(kernel, modelEntry, progress, {
      requestFor: () => request,
      async run(plugin, call) {
        const answer = await plugin.handlers.transcription?.(call);
        if (typeof answer?.text !== "string")
          throw new UpstreamFault("bad_response", "The provider's answer holds no text");
        return answer;
      },
    });
    progress.firstByteMs = kernel.now() - progress.openedAt;
    usageMeter.produced = true;
    usageMeter.complete = true;
    const audioMs = transcript.duration === undefined ? undefined : Math.round(transcript.duration * 1000);
    if (isAmount(audioMs) && audioMs > 0) usageMeter.report({ audioMs });
    return transcript;
  },
};

/** The length read from the file; where it does not say, what it can be at the most. */
function lengthOf({ audioMs, file }: TranscriptionRequest, audioMsMax: number | undefined): Meters {
  if (audioMs !== undefined) return { audioMs };
  const longest = file.size * msPerByteAtMost;
  return { audioMs: audioMsMax === undefined ? longest : Math.min(longest, audioMsMax) };
}
