import { UpstreamError } from "../../contract/index.ts";
import { readBase64 } from "../../lib/base64.ts";
import { isRecord, parseJson } from "../../lib/json.ts";
import { type Call, fromIterable, type ServerEvent, type Speech, type SpeechRequest } from "../../provider/index.ts";
import { classifyError } from "../upstream-errors.ts";
import { resolveOptions, type SpeechOptions, toBody } from "./request.ts";

/** Fields that only another provider's speech takes; a client may send them to every model. */
const omitDefault = ["target_language_code", "speech_sample_rate", "pace"];

/** The speech handler of a provider that speaks OpenAI's dialect. Its bytes are handed on as they arrive. */
export function speechHandler(options: SpeechOptions) {
  const withDefault: SpeechOptions = { omit: omitDefault, ...options };
  return async (call: Call<SpeechRequest>): Promise<Speech> => {
    const { events, ...options } = resolveOptions(withDefault, call.model);
    const body = toBody(call, options);
    body.response_format ??= "wav";
    if (body.voice === undefined && call.model.voiceDefault !== undefined) body.voice = call.model.voiceDefault;
    if (events) return readEvents(await call.upstream.events("/audio/speech", { ...body, stream_format: "sse" }));
    const { mediaType, chunks } = await call.upstream.bytes("/audio/speech", body);
    if (!/^(audio\/|application\/octet-stream)/.test(mediaType)) {
      throw new UpstreamError("bad_response", `The provider answered speech with ${mediaType}`);
    }
    return { audio: fromIterable(chunks) };
  };
}

/** Reads the audio of events. It is complete with the last event, which reports the tokens. */
function readEvents(events: AsyncIterable<ServerEvent>): Speech {
  let usage: Record<string, unknown> | undefined;
  let isComplete = false;
  const audio = {
    events,
    push({ data }: ServerEvent) {
      const event = parseJson(data, "event");
      if (isRecord(event) && event.type === "speech.audio.done") {
        if (isRecord(event.usage)) usage = event.usage;
        isComplete = true;
        return [];
      }
      if (!isRecord(event) || typeof event.audio !== "string") throw classifyError(event);
      return [readBase64(event.audio)];
    },
    end() {
      if (!isComplete) throw new UpstreamError("bad_response", "The provider's speech ended before it was complete");
      return [];
    },
    get isComplete() {
      return isComplete;
    },
  };
  return { audio, readUsage: () => usage };
}
