import { type Call, type Speech, type SpeechRequest, UpstreamFault } from "../../../contract/index.ts";
import { resolveOptions, type SpeechOptions } from "./options.ts";
import { toBody } from "./request.ts";

/** What only another provider's speech takes, so that a client may send it to every model. */
const omitDefault = ["target_language_code", "speech_sample_rate", "pace"];

/** The speech handler of a provider that speaks OpenAI's dialect. Its bytes are handed on as they arrive. */
export function speechHandler(options: SpeechOptions) {
  const withDefault: SpeechOptions = { omit: omitDefault, ...options };
  return async (call: Call<SpeechRequest>): Promise<Speech> => {
    const body = toBody(call, resolveOptions(withDefault, call.model));
    body.response_format ??= "wav";
    if (body.voice === undefined && call.model.voiceDefault !== undefined) body.voice = call.model.voiceDefault;
    const { mediaType, chunks } = await call.upstream.bytes("/audio/speech", body);
    if (!/^(audio\/|application\/octet-stream)/.test(mediaType)) {
      throw new UpstreamFault("bad_response", `The provider answered speech with ${mediaType}`);
    }
    return { wav: chunks };
  };
}
