/** How long a bucket of usage statistics is. */
export const periods = ["hourly", "daily", "weekly", "monthly", "yearly"] as const;
export type Period = (typeof periods)[number];

/** Whole UTC days, both counted, as days since 1970. */
export interface DaySpan {
  readonly startDay: number;
  readonly endDay: number;
}

/** A stretch of UTC hours, as hours since 1970. */
export interface Bucket {
  readonly startHour: number;
  /** Not counted any more. */
  readonly endHour: number;
}

/** The most days that may be asked for at once, so that an answer has at most about 750 buckets. */
export const spanDaysMax: Readonly<Record<Period, number>> = {
  hourly: 31,
  daily: 366,
  weekly: 1_830,
  monthly: 7_320,
  yearly: 36_600,
};

const hoursOfDay = 24;
const hourMs = 3_600_000;
/** 1970 began on a Thursday, and an ISO week begins on Monday. */
const daysFromMonday = 3;

/** The buckets that a span is cut into, without gaps; the first and the last are as short as the span has them. */
export function createBuckets(period: Period, { startDay, endDay }: DaySpan): Bucket[] {
  const end = (endDay + 1) * hoursOfDay;
  const buckets: Bucket[] = [];
  for (let start = startDay * hoursOfDay; start < end; ) {
    const endHour = Math.min(nextBoundary(period, start), end);
    buckets.push({ startHour: start, endHour });
    start = endHour;
  }
  return buckets;
}

/** Finds the bucket of an hour among consecutive buckets; `undefined` outside of all. */
export function findBucketIndex(buckets: readonly Bucket[], hour: number): number | undefined {
  let [low, high] = [0, buckets.length - 1];
  while (low <= high) {
    const middle = (low + high) >> 1;
    const { startHour, endHour } = buckets[middle] as Bucket;
    if (hour < startHour) high = middle - 1;
    else if (hour >= endHour) low = middle + 1;
    else return middle;
  }
  return undefined;
}

function nextBoundary(period: Period, hour: number): number {
  const day = Math.floor(hour / hoursOfDay);
  const date = new Date(hour * hourMs);
  switch (period) {
    case "hourly":
      return hour + 1;
    case "daily":
      return (day + 1) * hoursOfDay;
    case "weekly":
      return ((Math.floor((day + daysFromMonday) / 7) + 1) * 7 - daysFromMonday) * hoursOfDay;
    case "monthly":
      return Date.UTC(date.getUTCFullYear(), date.getUTCMonth() + 1, 1) / hourMs;
    case "yearly":
      return Date.UTC(date.getUTCFullYear() + 1, 0, 1) / hourMs;
  }
}
