import { fromIterable, type Handler } from "modelgate/plugin";
import { writeWav } from "../../src/lib/wav.ts";
import { applyFaults, failWhole, readFaults, withFaults } from "./faults.ts";
import { hashText, toPieces } from "./reply.ts";

const sampleRateDefault = 24_000;
const msPerCharacter = 60;
const playMsMax = 60_000;
const chunkBytes = 32 * 1024;

/** A tone as long as the text would take to say, of a height that depends on the voice. */
export const speech: Handler<"speech"> = async ({ request, model, signal }) => {
  const { text, faults } = readFaults(request.input);
  await applyFaults(faults, signal);
  if (faults.breakAfter === 0) failWhole(faults);
  const sampleRate = request.speech_sample_rate ?? model.sampleRates?.[0] ?? sampleRateDefault;
  const pace = request.pace ?? request.speed ?? 1;
  const playMs = Math.min(playMsMax, Math.max(msPerCharacter, (text.length * msPerCharacter) / pace));
  const hertz = 220 + (hashText(request.voice ?? model.voiceDefault ?? model.id) % 220);
  const wav = writeWav({ pcm: tone(hertz, playMs, sampleRate), sampleRate, channels: 1, bitsPerSample: 16 });
  return { audio: fromIterable(withFaults(slices(wav), faults, signal)) };
};

function tone(hertz: number, playMs: number, sampleRate: number): Uint8Array<ArrayBuffer> {
  const count = Math.round((playMs * sampleRate) / 1000);
  const view = new DataView(new ArrayBuffer(count * 2));
  for (let i = 0; i < count; i++) view.setInt16(i * 2, Math.sin((2 * Math.PI * hertz * i) / sampleRate) * 3000, true);
  return new Uint8Array(view.buffer);
}

function* slices(bytes: Uint8Array<ArrayBuffer>): Generator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < bytes.length; at += chunkBytes) yield bytes.subarray(at, at + chunkBytes);
}

/** Audio of unknown length is taken for speech as telephones carry it. */
const bytesPerSecond = 16_000;

/** Makes a transcript that describes the file, since nobody listened to it. */
export const transcription: Handler<"transcription"> = async ({ request, signal }) => {
  const { file, prompt = "", language = "en", audioMs } = request;
  const { faults } = readFaults(`${prompt} ${file.name}`);
  await applyFaults(faults, signal);
  failWhole(faults);
  const text = `[sandbox] Transcript of ${readFaults(file.name).text}, ${file.size} bytes`;
  const duration = audioMs === undefined ? file.size / bytesPerSecond : audioMs / 1000;
  const pieces = toPieces(text);
  const at = (position: number) => Math.round((duration * position * 1000) / pieces.length) / 1000;
  const words = pieces.map((word, index) => ({ word: word.trim(), start: at(index), end: at(index + 1) }));
  const quality = { temperature: 0, avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 };
  const segments = [{ id: 0, seek: 0, start: 0, end: at(pieces.length), text, tokens: [], ...quality }];
  return { text, language, segments, words, ...(!faults.usageMissing && { duration }) };
};
