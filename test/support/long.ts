/** Whether the long form of the proofs runs (`LONG=1`): hours of rounds instead of seconds. */
export const isLong = process.env.LONG === "1";

/** So many rounds in the short form, so many in the long one. */
export function rounds(short: number, long: number): number {
  return isLong ? long : short;
}
