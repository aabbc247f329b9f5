/** A valid WAV file of a quiet tone: 8 kHz, mono, 8 bits, so that a second is 8,000 bytes. */
export function wavOf(durationMs: number): Uint8Array<ArrayBuffer> {
  const rate = 8000;
  const samples = Math.round((durationMs * rate) / 1000);
  const bytes = new Uint8Array(44 + samples);
  const view = new DataView(bytes.buffer);
  const write = (at: number, text: string) => new TextEncoder().encodeInto(text, bytes.subarray(at));
  write(0, "RIFF");
  view.setUint32(4, 36 + samples, true);
  write(8, "WAVEfmt ");
  view.setUint32(16, 16, true);
  view.setUint16(20, 1, true);
  view.setUint16(22, 1, true);
  view.setUint32(24, rate, true);
  view.setUint32(28, rate, true);
  view.setUint16(32, 1, true);
  view.setUint16(34, 8, true);
  write(36, "data");
  view.setUint32(40, samples, true);
  for (let index = 0; index < samples; index++) bytes[44 + index] = 128 + Math.round(20 * Math.sin(index / 5));
  return bytes;
}

/** The same as a file to upload. */
export function wavFile(durationMs: number, name = "speech.wav"): File {
  return new File([wavOf(durationMs)], name, { type: "audio/wav" });
}
