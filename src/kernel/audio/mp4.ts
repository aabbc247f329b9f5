import { type ByteReader, readTag } from "./byte-reader.ts";
import type { MeasuredLength } from "./wav.ts";

/** MP4 may hold video, of at most 100 Mbit/s. */
const videoBytesPerMs = 12_500;

/** The length of an MP4 file by its movie header or, if that has no length, by the total of its fragments. */
export async function measureMp4(reader: ByteReader): Promise<MeasuredLength> {
  const movie = await findBox(reader, "moov", { start: 0, end: reader.size });
  const header = movie && (await findBox(reader, "mvhd", movie));
  const bytesPerMsMax = videoBytesPerMs;
  const isWide = header && (await reader.view(header.start, 1))?.getUint8(0) === 1;
  const times = header && (await reader.view(header.start + (isWide ? 20 : 12), isWide ? 12 : 8));
  if (movie === undefined || times === undefined) return { bytesPerMsMax };
  const fragments = await findBox(reader, "mvex", movie);
  const total = fragments && (await findBox(reader, "mehd", fragments));
  const isWideTotal = total && (await reader.view(total.start, 1))?.getUint8(0) === 1;
  const inFragments = total && (await reader.view(total.start + 4, isWideTotal ? 8 : 4));
  const duration = readTime(times, 4) ?? (inFragments && readTime(inFragments, 0));
  return { ms: duration === undefined ? undefined : (duration * 1000) / times.getUint32(0), bytesPerMsMax };
}

/** A duration up to the end of a view; 0 and "all ones" mean unknown. */
function readTime(view: DataView, at: number): number | undefined {
  const isWide = view.byteLength - at === 8;
  const time = isWide ? Number(view.getBigUint64(at)) : view.getUint32(at);
  return time === 0 || time >= (isWide ? 2 ** 63 : 2 ** 32 - 1) ? undefined : time;
}

interface Extent {
  start: number;
  end: number;
}

/** The content of the first box of a name. */
async function findBox(reader: ByteReader, name: string, { start, end }: Extent): Promise<Extent | undefined> {
  for (let at = start; at + 8 <= end; ) {
    const head = await reader.view(at, 8);
    if (head === undefined) return undefined;
    let [size, headBytes] = [head.getUint32(0), 8];
    if (size === 1) {
      const wide = await reader.view(at + 8, 8);
      if (wide === undefined) return undefined;
      [size, headBytes] = [Number(wide.getBigUint64(0)), 16];
    } else if (size === 0) {
      size = end - at;
    }
    if (size < headBytes) return undefined;
    if (readTag(head, 4) === name) return { start: at + headBytes, end: Math.min(end, at + size) };
    at += size;
  }
  return undefined;
}
