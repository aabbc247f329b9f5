import { api, request, slowRefresh } from "../../data/api.ts";
import { useLog } from "../../kit/log.tsx";

/** Filters of the API, under the names they have in the address of the page. */
export const filterNames = ["from", "until", "actor", "action", "subject"] as const;

export type AuditQuery = Partial<Record<(typeof filterNames)[number], string>>;

const getAudit = (query: AuditQuery & { before?: string; before_id?: string }) =>
  request(api.admin.audit.get({ query }));

export type AuditPage = Awaited<ReturnType<typeof getAudit>>;
export type AuditEntry = AuditPage["data"][number];

export const useAudit = (query: AuditQuery) => useLog("admin-audit", query, getAudit, slowRefresh);

/** The address of a file with the entries that fit. */
export function toDownload(query: AuditQuery, format: "csv" | "jsonl"): string {
  return `/dashboard/api/admin/audit.${format}?${new URLSearchParams(query)}`;
}
