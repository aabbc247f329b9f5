const dayMs = 86_400_000;

/** The UTC day of a moment, days since 1970. */
export function dayOf(time: number): number {
  return Math.floor(time / dayMs);
}

/** The first moment of a UTC day, milliseconds since 1970. */
export function startOfDay(day: number): number {
  return day * dayMs;
}

/** The UTC month of a moment, named by its first day, days since 1970. */
export function monthOf(time: number): number {
  const date = new Date(time);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / dayMs;
}

/** The first moment after a month that is named by its first day, milliseconds since 1970. */
export function endOfMonth(month: number): number {
  const date = new Date(month * dayMs);
  return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1);
}
