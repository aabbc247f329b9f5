/**
 * The length of an audio file in milliseconds, read from the file itself.
 *
 * @returns `undefined` when its container does not say or cannot be read.
 */
export async function readAudioMs(file: Blob): Promise<number | undefined> {
  try {
    // Loaded by the first file: gateways that transcribe nothing go without its 10 MB.
    const { parseBlob } = await import("music-metadata");
    const { format } = await parseBlob(file, { duration: true, skipCovers: true });
    const { duration } = format;
    if (duration === undefined || !Number.isFinite(duration) || duration < 0) return undefined;
    return Math.ceil(duration * 1000);
  } catch {
    return undefined;
  }
}
