import {
  GatewayError,
  isReportable,
  type Meters,
  type TranscriptionRequest,
  UpstreamFault,
} from "../../contract/index.ts";
import { tokensMax } from "../normalize/usage.ts";
import { withFailover } from "../routing/failover.ts";
import type { CapabilityHandler } from "../types.ts";

/** For audio of unknown length: one millisecond per byte, as at 8 kbit/s. */
const msPerByteMax = 1;

export const transcriptionHandler: CapabilityHandler<"transcription"> = {
  validate({ request, modelEntry: { model } }) {
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

  upperBound: ({ request, modelEntry }) => getLength(request, modelEntry.model.audioMsMax),
  promptTokens: ({ request }) => (request.prompt === undefined ? 0 : tokensMax(request.prompt)),
  estimate: async ({ request, modelEntry }) => getLength(request, modelEntry.model.audioMsMax),

  async execute(kernel, call) {
    const { request, usageMeter } = call;
    const transcript = await withFailover(kernel, call, {
      requestFor: () => request,
      async run(plugin, pluginCall) {
        const answer = await plugin.handlers.transcription?.(pluginCall);
        if (typeof answer?.text !== "string")
          throw new UpstreamFault("bad_response", "The provider's answer has no text");
        return answer;
      },
    });
    call.firstByteMs = kernel.now() - call.openedAt;
    usageMeter.produced = true;
    usageMeter.complete = true;
    const audioMs = transcript.duration === undefined ? undefined : Math.round(transcript.duration * 1000);
    if (isReportable(audioMs) && audioMs > 0) usageMeter.report({ audioMs });
    return transcript;
  },
};

/** The length read from the file; if it has none, the longest it can be. */
function getLength({ audioMs, file }: TranscriptionRequest, audioMsMax: number | undefined): Meters {
  if (audioMs !== undefined) return { audioMs };
  const longest = file.size * msPerByteMax;
  return { audioMs: audioMsMax === undefined ? longest : Math.min(longest, audioMsMax) };
}

/**
 * The length of an audio file in milliseconds, read from the file itself.
 *
 * @returns `undefined` when its container has no length or cannot be read.
 */
export async function readAudioMs(file: Blob): Promise<number | undefined> {
  try {
    // Loaded for the first file: gateways without transcriptions save its 10 MB.
    const { parseBlob } = await import("music-metadata");
    const { format } = await parseBlob(file, { duration: true, skipCovers: true });
    const { duration } = format;
    if (duration === undefined || !Number.isFinite(duration) || duration < 0) return undefined;
    return Math.ceil(duration * 1000);
  } catch {
    return undefined;
  }
}
