/** Whether the long form of the proofs runs (`LONG=1`): hours of rounds instead of seconds. */
export const isLong = process.env.LONG === "1";

/**
 * How long a test or a hook may take: as long as the slowest machine needs for it many times over. Only a hang ends here;
 * what should be quick is measured by what it does, not by the clock.
 */
export const testMsMax = isLong ? 6 * 3_600_000 : 240_000;

/** So many rounds in the short form, so many in the long one. */
export function rounds(short: number, long: number): number {
  return isLong ? long : short;
}
