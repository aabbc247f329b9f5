import { defineCommand, UsageError } from "../../cli/command.ts";
import { columns, toIsoTime } from "../../cli/lib/format.ts";
import { withStore } from "../../cli/lib/with-store.ts";
import { type FiringAlert, readFiring } from "./record-findings.ts";
import { gatewayOwner } from "./rule-settings.ts";
import { severities } from "./subject.ts";

export const alertList = defineCommand({
  name: "alert list",
  description:
    "List the alerts of the gateway that are firing, newest first: severity, subject, since when, and the page",
  flags: {
    severity: {
      value: "S",
      description: `Only alerts that are this severe or more: ${severities.join(", ")}`,
      choices: severities,
    },
  },
  args: [],
  example: "alert list --severity critical",
  async run(_context, { flags, config, now }) {
    const { severity = "info" } = flags;
    const names: readonly string[] = severities;
    const least = names.indexOf(severity);
    if (least === -1) throw new UsageError(`--severity is ${severity}, expected ${severities.join(", ")}`);
    const { publicUrl } = config;
    const all = await withStore(config, ({ store }) => readFiring(store, gatewayOwner, { now, publicUrl }), now);
    const alerts = all.filter((alert) => severities.indexOf(alert.severity) >= least);
    const rows = alerts.map(({ severity, startedAt, subject, text, mutedUntil }) => [
      severity,
      new Date(startedAt).toISOString().slice(0, 16).replace("T", " "),
      `${subject.type} ${subject.id}`,
      mutedUntil === undefined ? text : `${text} (muted)`,
    ]);
    const head = ["severity", "since (UTC)", "subject", "text"];
    return { json: alerts.map(toJson), text: rows.length === 0 ? "No alert is firing" : columns([head, ...rows]) };
  },
});

function toJson({ startedAt, notifiedAt, mutedUntil, ...alert }: FiringAlert) {
  return {
    ...alert,
    started_at: toIsoTime(startedAt),
    notified_at: toIsoTime(notifiedAt),
    muted: mutedUntil !== undefined,
  };
}
