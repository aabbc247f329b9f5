import { useEffect, useRef } from "react";
import useSWR from "swr";
import { ask } from "./api.ts";

const hourMs = 3_600_000;
/** Within which all tabs ask after an hour has begun. */
const spreadMs = 60_000;
/** Where nothing is called, what is shown moves on with the hour alone. */
const untilNextHour = () => hourMs - (Date.now() % hourMs) + Math.random() * spreadMs;

export const periods = ["hourly", "daily", "weekly", "monthly"] as const;
export type Period = (typeof periods)[number];

/** What was used, of one bucket, one model or all. */
export interface Figures {
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

export type OfModel = Figures & { readonly model: string };
type Sum = Figures & { readonly by_model: readonly OfModel[] };
export type Bucket = Sum & { readonly start: string; readonly end: string };

export interface Usage {
  readonly period: Period;
  readonly start_date: string;
  readonly end_date: string;
  readonly totals: Sum;
  readonly data: readonly Bucket[];
}

/** What is asked of GET /usage: UTC days, both counted. */
export interface Span {
  readonly startDate: string;
  readonly endDate: string;
  readonly period: Period;
}

/**
 * Usage of the own account, summed up anew when the latest calls have changed, which cost far less to ask for; while
 * another span is on its way, the former stays on the screen.
 *
 * @param stamp What tells the latest calls from former ones.
 */
export function useUsage(span: Span, stamp: string | undefined) {
  const path = `/v1/usage?${new URLSearchParams({ ...span })}`;
  const usage = useSWR(path, (asked: string) => ask<Usage>(asked), {
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
