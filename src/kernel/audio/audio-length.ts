import { type AudioBlob, ByteReader, readTag } from "./byte-reader.ts";
import { measureFlac } from "./flac.ts";
import { measureMatroska } from "./matroska.ts";
import { measureMp4 } from "./mp4.ts";
import { measureMpeg } from "./mpeg.ts";
import { measureOgg } from "./ogg.ts";
import { type MeasuredLength, measureWav } from "./wav.ts";

/** How long a file plays, in whole milliseconds. */
export interface AudioLength {
  /** Length by the header or the frames; absent when the file does not say. Never relied on alone: a caller can forge it. */
  audioMs?: number;
  /** The least that so many bytes of its format can play. */
  audioMsMin: number;
  /** The most, where everything that plays was counted: samples, frames or packets. Absent: the file may play for any time. */
  audioMsMax?: number;
}

/** Chunks, atoms and elements that are visited: good files need about ten. */
export const chunksMax = 256;
/** Frames, packets and pages that are counted: an MP3 file of 25 MB has fewer at 24 kbit/s and above. */
export const framesMax = 350_000;
/** Highest bitrate of an unknown format, which may be video: 100 Mbit/s. */
const anyBytesPerMs = 12_500;
const boxNames = ["ftyp", "moov", "mdat", "free", "skip", "wide"];

/**
 * Reads how long an audio file plays. What its header says can be forged, and a compressed format can play for hours with
 * a few bytes of silence: only what is counted bounds the length. The work is bounded by {@link chunksMax} and
 * {@link framesMax}, whatever is in the file.
 */
export async function readAudioLength(file: AudioBlob): Promise<AudioLength> {
  const { ms, msMax, audioBytes = file.size, bytesPerMsMax } = (await measure(file)).found ?? unknown;
  const isSensible = ms !== undefined && ms > 0 && ms < Number.MAX_SAFE_INTEGER;
  const audioMs = isSensible ? Math.ceil(ms) : undefined;
  const audioMsMin = Math.floor(audioBytes / bytesPerMsMax);
  return {
    ...(audioMs !== undefined && { audioMs }),
    audioMsMin,
    // A provider may bill by what the header says where that is more.
    ...(msMax !== undefined && { audioMsMax: Math.max(Math.ceil(msMax), audioMs ?? 0, audioMsMin) }),
  };
}

const unknown: MeasuredLength = { bytesPerMsMax: anyBytesPerMs };

/** Measures a file by its bytes. Also returns the reader, which counted the work. */
export async function measure(file: AudioBlob): Promise<{ found: MeasuredLength | undefined; reader: ByteReader }> {
  const head = new DataView(await file.slice(0, 12).arrayBuffer());
  const measureFormat = head.byteLength < 12 ? undefined : chooseFormat(head);
  const reader = new ByteReader(
    file,
    measureFormat === measureMp4 || measureFormat === measureWav ? chunksMax : framesMax,
  );
  return { found: await measureFormat?.(reader), reader };
}

function chooseFormat(head: DataView): (reader: ByteReader) => Promise<MeasuredLength | undefined> {
  const tag = readTag(head);
  if ((tag === "RIFF" || tag === "RF64") && readTag(head, 8) === "WAVE") return measureWav;
  if (tag === "fLaC") return measureFlac;
  if (tag === "OggS") return measureOgg;
  if (head.getUint32(0) === 0x1a45dfa3) return measureMatroska;
  if (boxNames.includes(readTag(head, 4))) return measureMp4;
  return measureMpeg;
}
