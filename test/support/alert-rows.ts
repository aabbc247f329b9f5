import { toEpisodeId } from "../../src/modules/alerts/subject.ts";

const subject = { subject_type: "provider", subject_id: "acme", subject_name: "acme" } as const;

/** A row of an alert of the gateway that is firing, and the id that answers have. */
export function makeAlertRow(key: string, times: { since_at: number; seen_at: number }) {
  const row = {
    ...{ id: key, owner: "gateway", rule: "circuit_open", subject_key: "acme", text: "acme fails" },
    ...{ level: 1, severity: 1, ...subject, page: "/admin/providers/acme", ...times },
    ...{ notified_at: null, notified_level: null, notified_severity: null },
  };
  return { row, id: toEpisodeId(key, times.since_at) };
}

/** A row of an alert of the gateway that is over. */
export function makePastAlertRow(id: string, times: { since_at: number; ended_at: number }) {
  const text = "acme fails";
  return { id, owner: "gateway", rule: "circuit_open", text, severity: 1, ...subject, page: "/status", ...times };
}
