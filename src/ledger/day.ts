const dayMs = 86_400_000;

/** The UTC day of a moment, days since 1970. */
export function dayOf(time: number): number {
  return Math.floor(time / dayMs);
}

/** The first moment of a UTC day, milliseconds since 1970. */
export function startOfDay(day: number): number {
  return day * dayMs;
}
