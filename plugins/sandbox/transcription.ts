import type { Call, Transcript, TranscriptionRequest } from "modelgate/plugin";
import { failWhole, readFaults, suffer } from "./faults.ts";
import { toPieces } from "./pieces.ts";

/** Sound of unknown length is taken for speech as telephones carry it. */
const bytesPerSecond = 16_000;

/** A transcript that tells of the file, since nobody listened to it. */
export async function transcription({ request, signal }: Call<TranscriptionRequest>): Promise<Transcript> {
  const { file, prompt = "", language = "en", audioMs } = request;
  const { faults } = readFaults(`${prompt} ${file.name}`);
  await suffer(faults, signal);
  failWhole(faults);
  const text = `[sandbox] Transcript of ${readFaults(file.name).text}, ${file.size} bytes`;
  const duration = audioMs === undefined ? file.size / bytesPerSecond : audioMs / 1000;
  const pieces = toPieces(text);
  const at = (position: number) => Math.round((duration * position * 1000) / pieces.length) / 1000;
  const words = pieces.map((word, index) => ({ word: word.trim(), start: at(index), end: at(index + 1) }));
  const quality = { temperature: 0, avg_logprob: 0, compression_ratio: 1, no_speech_prob: 0 };
  const segments = [{ id: 0, seek: 0, start: 0, end: at(pieces.length), text, tokens: [], ...quality }];
  return { text, language, segments, words, ...(!faults.usageMissing && { duration }) };
}
