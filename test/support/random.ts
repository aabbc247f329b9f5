/** Whole numbers below a bound, the same for the same seed (mulberry32), so that a failing split can be repeated. */
export function randomBelow(seed: number): (bound: number) => number {
  let state = seed >>> 0;
  return (bound) => {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), state | 1);
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound;
  };
}

/** Cuts bytes at random places into so many slices: inside characters, lines and events alike. */
export function cutAtRandom(bytes: Uint8Array<ArrayBuffer>, count: number, seed: number): Uint8Array<ArrayBuffer>[] {
  const below = randomBelow(seed);
  return cutAt(
    bytes,
    Array.from({ length: count - 1 }, () => below(bytes.length + 1)).sort((a, b) => a - b),
  );
}

/** Cuts bytes at these places, which rise. */
export function cutAt(bytes: Uint8Array<ArrayBuffer>, places: number[]): Uint8Array<ArrayBuffer>[] {
  const bounds = [0, ...places, bytes.length];
  return bounds.slice(1).map((end, index) => bytes.subarray(bounds[index], end));
}
