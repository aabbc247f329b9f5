import useSWRInfinite from "swr/infinite";
import { api, request } from "../../data/api.ts";

/** The filters of the API, as they stand in the address of the page. */
export const filterNames = ["from", "until", "actor", "action", "subject"] as const;

export type AuditQuery = Partial<Record<(typeof filterNames)[number], string>>;

const getAudit = (query: AuditQuery & { before?: string; before_id?: string }) =>
  request(api.admin.audit.get({ query }));

export type AuditPage = Awaited<ReturnType<typeof getAudit>>;
export type AuditEntry = AuditPage["data"][number];

/** Pages of the audit log, newest first. */
export function useAudit(query: AuditQuery) {
  const text = JSON.stringify(query);
  return useSWRInfinite(
    (place: number, last: AuditPage | null) => {
      if (place > 0 && !last?.next) return null;
      return ["admin-audit", text, last?.next?.before, last?.next?.before_id] as const;
    },
    ([, filter, before, id]) =>
      getAudit({ ...JSON.parse(filter), ...(before && { before }), ...(id && { before_id: id }) }),
    { refreshInterval: 15_000, keepPreviousData: true },
  );
}

/** The address of a file with the entries that fit. */
export function toDownload(query: AuditQuery, format: "csv" | "jsonl"): string {
  return `/dashboard/api/admin/audit.${format}?${new URLSearchParams(query)}`;
}
