import { defineCommand, UsageError } from "../../cli/command.ts";
import { columns, toIsoTime } from "../../cli/lib/format.ts";
import { withStore } from "../../cli/lib/with-store.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import { createLog } from "../../observability/log.ts";
import { SecretBox } from "../../providers/index.ts";
import { findChannel } from "./channel-fields.ts";
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

export const channelTest = defineCommand({
  name: "channel test",
  description: "Send a test alert to an alert channel, and report whether it was accepted",
  flags: {},
  args: ["CHANNEL"],
  example: "channel test Operations",
  async run(_context, { args: { CHANNEL: text }, config, now }) {
    // Other commands do not load what sends messages.
    const { createDelivery } = await import("./deliver.ts");
    return await withStore(
      config,
      async ({ store }) => {
        const { id, name } = await findChannel({ store }, gatewayOwner, text);
        const log = createLog("silent", () => undefined);
        const delivery = createDelivery({ store, secrets: new SecretBox(config), config, now: Date.now, log });
        const error = await delivery.sendTest(id);
        const json = { id, name, ok: error === undefined, error: error ?? null };
        const line = error === undefined ? `${name} accepted a test alert` : `${name}: ${toTerminalLine(error)}`;
        return { json, text: line, exitCode: error === undefined ? 0 : 1 };
      },
      now,
    );
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
