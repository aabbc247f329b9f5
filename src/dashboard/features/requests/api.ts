import useSWR from "swr";
import { api, request } from "../../data/api.ts";
import { refreshMs } from "../../data/session.ts";
import { useLog } from "../../kit/log.tsx";

/** Filters of the API, under the names they have in the address of the page. */
export const filterNames = [
  "from",
  "until",
  "account",
  "key",
  "model",
  "plugin",
  "incident",
  "protocol",
  "status",
  "error",
  "duration",
  "cost",
  "session",
  "tag",
  "end_user",
  "agent",
  "text",
] as const;

export type FilterName = (typeof filterNames)[number];

export type RequestQuery = Partial<Record<FilterName, string>>;

const getRequests = (query: RequestQuery & { before?: string; before_id?: string }) =>
  request(api.requests.get({ query: query as never }));
const getRequest = (id: string) => request(api.requests({ id }).get());

export type RequestPage = Awaited<ReturnType<typeof getRequests>>;
export type LoggedRequest = RequestPage["data"][number];
export type RequestDetail = Awaited<ReturnType<typeof getRequest>>;

/** The request log, refreshed while `isLive`. */
export const useRequests = (query: RequestQuery, isLive: boolean) =>
  useLog("requests", query, getRequests, { refreshInterval: isLive ? refreshMs / 2 : 0, revalidateFirstPage: isLive });

export const useRequest = (id: string) => useSWR(["request", id], () => getRequest(id));

/** The address of a file with the requests that fit. */
export function toDownload(query: RequestQuery, format: "csv" | "jsonl"): string {
  return `/dashboard/api/requests.${format}?${new URLSearchParams(query)}`;
}
