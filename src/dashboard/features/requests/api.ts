import useSWR from "swr";
import useSWRInfinite from "swr/infinite";
import { api, request } from "../../data/api.ts";
import { refreshMs } from "../../data/session.ts";

/** The filters of the API, as they stand in the address of the page. */
export const filterNames = [
  "from",
  "until",
  "account",
  "key",
  "model",
  "plugin",
  "protocol",
  "status",
  "error",
  "duration",
  "cost",
  "session",
  "tag",
  "text",
] as const;

export type FilterName =
  | "from"
  | "until"
  | "account"
  | "key"
  | "model"
  | "plugin"
  | "protocol"
  | "status"
  | "error"
  | "duration"
  | "cost"
  | "session"
  | "tag"
  | "text";

export type RequestQuery = Partial<Record<FilterName, string>>;

type Cursor = { before?: string; before_id?: string };

const getRequests = (query: RequestQuery, cursor: Cursor) =>
  request(api.requests.get({ query: { ...query, ...cursor } as never }));
const getRequest = (id: string) => request(api.requests({ id }).get());

export type RequestPage = Awaited<ReturnType<typeof getRequests>>;
export type LoggedRequest = RequestPage["data"][number];
export type RequestDetail = Awaited<ReturnType<typeof getRequest>>;

/** Pages of the request log, newest first; refreshed while `isLive`. */
export function useRequests(query: RequestQuery, isLive: boolean) {
  const text = JSON.stringify(query);
  return useSWRInfinite(
    (place: number, last: RequestPage | null) => {
      if (place > 0 && !last?.next) return null;
      return ["requests", text, last?.next?.before, last?.next?.before_id] as const;
    },
    ([, key, before, id]) =>
      getRequests(JSON.parse(key), before ? { before, ...(id !== undefined && { before_id: id }) } : {}),
    { refreshInterval: isLive ? refreshMs / 2 : 0, keepPreviousData: true, revalidateFirstPage: isLive },
  );
}

export const useRequest = (id: string) => useSWR(["request", id], () => getRequest(id));

/** The address of a file with the requests that fit. */
export function toDownload(query: RequestQuery, format: "csv" | "jsonl"): string {
  return `/dashboard/api/requests.${format}?${new URLSearchParams(query)}`;
}
