/** Milliseconds of a frame by the configuration in the first byte of a packet: SILK, hybrid, then CELT. */
const silkMs = [10, 20, 40, 60];
const hybridMs = [10, 20];
const celtMs = [2.5, 5, 10, 20];
/** The most that a packet plays. */
const packetMsMax = 120;

/**
 * Duration of a packet of Opus by its first two bytes, which its decoder follows: a packet of silence has no more.
 * https://www.rfc-editor.org/rfc/rfc6716#section-3.1
 */
export function getOpusPacketMs(first: number | undefined, second: number | undefined): number {
  // An empty packet stands for a lost one, which is filled in.
  if (first === undefined) return packetMsMax;
  const config = first >> 3;
  const frameMs = config < 12 ? silkMs[config & 3] : config < 16 ? hybridMs[config & 1] : celtMs[config & 3];
  const code = first & 3;
  const frames = code === 0 ? 1 : code < 3 ? 2 : (second ?? 63) & 63;
  return Math.min((frameMs as number) * frames, packetMsMax);
}
