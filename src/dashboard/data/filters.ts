const minuteMs = 60_000;

/** Time spans up to now. */
export const spans = {
  hour: { name: "Last hour", ms: 60 * minuteMs },
  day: { name: "Last 24 hours", ms: 1440 * minuteMs },
  week: { name: "Last 7 days", ms: 10_080 * minuteMs },
  month: { name: "Last 30 days", ms: 43_200 * minuteMs },
} as const;

type SpanName = keyof typeof spans;

/**
 * The filters of these names in an address, as the API takes them; `from` may be there as a `span` up to now. It begins
 * at a whole minute, so that it can be cached.
 */
export function readQuery<Name extends string>(
  params: URLSearchParams,
  names: readonly (Name | "from" | "until")[],
  now: number,
): Partial<Record<Name | "from" | "until", string>> {
  const query: Partial<Record<Name | "from" | "until", string>> = {};
  for (const name of names) {
    const value = params.get(name);
    if (value !== null && value !== "") query[name] = value;
  }
  for (const name of ["from", "until"] as const) {
    const at = Date.parse(query[name] ?? "");
    if (Number.isNaN(at)) delete query[name];
    else query[name] = new Date(at).toISOString();
  }
  const span = params.get("span");
  if (span !== null && Object.hasOwn(spans, span)) {
    const start = Math.floor(now / minuteMs) * minuteMs - spans[span as SpanName].ms;
    query.from = new Date(start).toISOString();
  }
  return query;
}
