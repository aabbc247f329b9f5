import { filterNames, type RequestQuery } from "../../data/requests.ts";

const minuteMs = 60_000;

/** Time spans up to now. */
export const spans = {
  hour: { name: "Last hour", ms: 60 * minuteMs },
  day: { name: "Last 24 hours", ms: 1440 * minuteMs },
  week: { name: "Last 7 days", ms: 10_080 * minuteMs },
  month: { name: "Last 30 days", ms: 43_200 * minuteMs },
} as const;

export type SpanName = keyof typeof spans;

export function hasFilters(params: URLSearchParams): boolean {
  return ["span", ...filterNames].some((name) => params.has(name));
}

/** The filters in the address, as the API takes them. A span begins at a whole minute, so that it can be cached. */
export function toQuery(params: URLSearchParams, now: number): RequestQuery {
  const query: RequestQuery = {};
  for (const name of filterNames) {
    const value = params.get(name);
    if (value !== null && value !== "") query[name] = value;
  }
  for (const name of ["from", "until"] as const) {
    const at = query[name] === undefined ? Number.NaN : Date.parse(query[name]);
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
