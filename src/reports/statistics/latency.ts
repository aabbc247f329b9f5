import { latencyBuckets } from "../../db/index.ts";

/** Each bucket of a histogram ends at 1.6 times the end of the one before, and the last one, from 309 s on, nowhere. */
const firstMs = 10;
const ratio = 1.6;

/** The bucket that a duration falls into. */
export function findLatencyBucket(ms: number): number {
  if (ms <= firstMs) return 0;
  return Math.min(latencyBuckets - 1, Math.ceil(Math.log(ms / firstMs) / Math.log(ratio)));
}

/**
 * The duration that a share of a histogram did not exceed, in milliseconds: between the bounds of its bucket by where in
 * it the share falls, so at most 60 % beside the true one and most often within a third. Undefined for an empty histogram.
 */
export function findPercentile(histogram: ArrayLike<number>, share: number): number | undefined {
  let total = 0;
  for (let bucket = 0; bucket < latencyBuckets; bucket++) total += histogram[bucket] ?? 0;
  if (total === 0) return undefined;
  const rank = total * share;
  let below = 0;
  for (let bucket = 0; bucket < latencyBuckets; bucket++) {
    const count = histogram[bucket] ?? 0;
    if (count > 0 && below + count >= rank) return Math.round(interpolate(bucket, (rank - below) / count));
    below += count;
  }
  return undefined;
}

function interpolate(bucket: number, share: number): number {
  const low = bucket === 0 ? 0 : firstMs * ratio ** (bucket - 1);
  if (bucket === latencyBuckets - 1) return low;
  return low + (firstMs * ratio ** bucket - low) * share;
}
