const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
/** 1970-01-05 was a Monday. */
const firstMonday = 4;

export type DigestPeriod = "daily" | "weekly";

export const digestDays: Readonly<Record<DigestPeriod, number>> = { daily: 1, weekly: 7 };

/** When the latest digest was due, at or before a time: each day at its hour, or on Mondays. In UTC. */
export function lastDigestAt(period: DigestPeriod, hour: number, now: number): number {
  const days = digestDays[period];
  const first = (period === "weekly" ? firstMonday : 0) * dayMs + hour * hourMs;
  return first + Math.floor((now - first) / (days * dayMs)) * days * dayMs;
}

/** When the next digest is due, after a time. */
export function nextDigestAt(period: DigestPeriod, hour: number, now: number): number {
  return lastDigestAt(period, hour, now) + digestDays[period] * dayMs;
}
