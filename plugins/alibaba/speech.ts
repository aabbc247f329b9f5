import {
  fromIterable,
  type Handler,
  isRecord,
  parseJson,
  streamWav,
  UpstreamError,
  type UpstreamWebSocket,
  warnOfOthers,
} from "modelgate/plugin";
import { boundSpeed, nearestSampleRate } from "../../src/protocols/speech-settings.ts";

const translated = ["model", "input", "voice", "response_format", "stream_format", "speed", "speech_sample_rate"];
const sampleRates = [8000, 16_000, 22_050, 24_000, 44_100, 48_000] as const;
const sampleRateDefault = 24_000;
const speeds = [0.5, 2] as const;

/** Codes of tasks that fail, by how they begin: https://www.alibabacloud.com/help/en/model-studio/error-code */
const failures = [
  [/^Arrearage/, "insufficient_quota"],
  [/^Throttling/, "rate_limited"],
  [/^(InvalidApiKey|AccessDenied|Unauthorized)/, "auth"],
  [/^Model\.?NotFound|^Model\.AccessDenied/, "model_not_found"],
  [/^(InvalidParameter|BadRequest|DataInspection)/, "bad_request"],
  [/^InternalError/, "server_error"],
  [/^(ServiceUnavailable|ModelUnavailable|RequestTimeOut)/, "overloaded"],
] as const;

/**
 * Text to speech by CosyVoice, which has no other endpoint than a WebSocket:
 * https://www.alibabacloud.com/help/en/model-studio/cosyvoice-websocket-api
 */
const speak: Handler<"speech"> = async ({ request, model, upstream, warn }) => {
  warnOfOthers(request, translated, warn);
  const { input, voice, response_format: format } = request;
  const sampleRate = nearestSampleRate(sampleRates, request.speech_sample_rate ?? sampleRateDefault);
  const isSamples = format !== "mp3" && format !== "opus";
  const rate = boundSpeed({ request, warn }, speeds);
  const parameters = {
    text_type: "PlainText",
    voice: voice ?? model.voiceDefault,
    format: isSamples ? "pcm" : format,
    sample_rate: sampleRate,
    ...(rate !== undefined && { rate }),
  };
  // On the same host as chat, but under another path.
  const url = new URL("/api-ws/v1/inference", upstream.baseUrl).href;
  const socket = await upstream.webSocket(url, { isAnswer: (message) => typeof message !== "string" });
  const audio = runTask(socket, input, { model: model.upstreamId, parameters });
  return {
    audio: isSamples ? streamWav(audio, { sampleRate, channels: 1, bitsPerSample: 16 }) : fromIterable(audio),
  };
};

/** A Chinese character counts twice, as Han characters of Japanese and Korean do; anything else once. */
function countCharacters(text: string): number {
  let count = 0;
  for (const character of text) count += /\p{Script=Han}/u.test(character) ? 2 : 1;
  return count;
}

export const speech: Handler<"speech"> = Object.assign(speak, { countCharacters });

/** Sends the text once the task has started, and gives the audio until it has finished. */
async function* runTask(socket: UpstreamWebSocket, text: string, task: { model: string; parameters: object }) {
  const taskId = crypto.randomUUID().replaceAll("-", "");
  const send = (action: string, payload: object) =>
    socket.send(JSON.stringify({ header: { action, task_id: taskId, streaming: "duplex" }, payload }));
  await send("run-task", { task_group: "audio", task: "tts", function: "SpeechSynthesizer", ...task, input: {} });
  for await (const message of socket) {
    if (typeof message !== "string") {
      yield message;
      continue;
    }
    const event = parseJson(message, "event");
    const header = isRecord(event) && isRecord(event.header) ? event.header : {};
    if (header.event === "task-started") {
      await send("continue-task", { input: { text } });
      await send("finish-task", { input: {} });
    } else if (header.event === "task-finished") return;
    else if (header.event === "task-failed") throw toError(header);
  }
  throw new UpstreamError("bad_response", "The provider ended the connection before its speech was complete");
}

function toError({ error_code: code, error_message: message }: Record<string, unknown>): UpstreamError {
  const name = typeof code === "string" ? code : "";
  const kind = failures.find(([pattern]) => pattern.test(name))?.[1] ?? "bad_response";
  const isShown = kind === "bad_request" && typeof message === "string" && message !== "";
  return new UpstreamError(kind, isShown ? message : `The provider could not speak the text (${name})`, { code: name });
}
