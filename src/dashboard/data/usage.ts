import { useEffect, useRef } from "react";
import useSWR from "swr";
import { fetchJson } from "./api.ts";

const hourMs = 3_600_000;
/** Spreads the requests of all open tabs after a full hour. */
const spreadMs = 60_000;
/** Without new calls the buckets only change at the full hour. */
const untilNextHour = () => hourMs - (Date.now() % hourMs) + Math.random() * spreadMs;

export const periods = ["hourly", "daily", "weekly", "monthly"] as const;
export type Period = (typeof periods)[number];

/** Usage of one bucket, one model or the whole time range. */
export interface UsageTotals {
  readonly requests: number;
  readonly failures: number;
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly total_tokens: number;
  readonly characters: number;
  readonly images: number;
  readonly audio_seconds: number;
  readonly quota_tokens: number;
  readonly cost_usd: string;
  readonly charged_usd: string;
}

export type ModelUsage = UsageTotals & { readonly model: string };
type UsageSum = UsageTotals & { readonly by_model: readonly ModelUsage[] };
export type Bucket = UsageSum & { readonly start: string; readonly end: string };

export interface Usage {
  readonly period: Period;
  readonly start_date: string;
  readonly end_date: string;
  readonly totals: UsageSum;
  readonly data: readonly Bucket[];
}

/** Parameters of GET /usage; UTC days, both inclusive. */
export interface UsageQuery {
  readonly startDate: string;
  readonly endDate: string;
  readonly period: Period;
}

/**
 * Usage of the account, fetched again when the latest calls changed, which are much cheaper to poll. The former data
 * stays on the screen while another range loads.
 *
 * @param stamp The version of the latest calls.
 */
export function useUsage(span: UsageQuery, stamp: string | undefined) {
  const path = `/v1/usage?${new URLSearchParams({ ...span })}`;
  const usage = useSWR(path, (url: string) => fetchJson<Usage>(url), {
    refreshInterval: untilNextHour,
    keepPreviousData: true,
  });
  const known = useRef(stamp);
  const { mutate } = usage;
  useEffect(() => {
    if (known.current !== undefined && known.current !== stamp) void mutate();
    known.current = stamp;
  }, [stamp, mutate]);
  return usage;
}
