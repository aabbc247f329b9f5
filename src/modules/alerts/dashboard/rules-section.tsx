import { useState } from "react";
import { formatUsd } from "../../../dashboard/format.ts";
import { Button } from "../../../dashboard/kit/button.tsx";
import { TextField } from "../../../dashboard/kit/field.tsx";
import { FormDialog, useForm } from "../../../dashboard/kit/form.tsx";
import { Section } from "../../../dashboard/kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../../dashboard/kit/table.tsx";
import { toast, toastError } from "../../../dashboard/kit/toast.tsx";
import { type AlertChannel, type AlertRule, type AlertScope, setRule } from "./api.ts";
import { ruleTitles, titleOfRule } from "./rule-titles.ts";

/** The conditions that are watched, with their thresholds. */
export function RulesSection({
  scope,
  rules,
  channels,
}: {
  scope: AlertScope;
  rules: readonly AlertRule[];
  channels: readonly AlertChannel[];
}) {
  const [editing, setEditing] = useState<AlertRule>();
  const toggle = ({ rule, enabled, threshold }: AlertRule) => {
    const change = { enabled: !enabled, ...(threshold !== null && { threshold }) };
    setRule(scope, rule, change).then(() => toast(`${titleOfRule(rule)} is ${enabled ? "off" : "on"}`), toastError);
  };
  return (
    <Section title={scope === "admin" ? "Rules" : "Alert rules"}>
      <Table
        rows={rules}
        rowKey={({ rule }) => rule}
        columns={[
          {
            name: "Rule",
            className: "lead",
            cell: ({ rule }) => (
              <>
                {titleOfRule(rule)}
                <span className="sub">{ruleTitles[rule]?.description}</span>
              </>
            ),
          },
          { name: "Threshold", className: "end", cell: (rule) => formatThreshold(rule) },
          receiversColumn(channels, ({ rule }: AlertRule) => [rule]),
          statusColumn,
          actionsColumn<AlertRule>((rule) => (
            <>
              {rule.unit !== null && (
                <Button
                  look="plain small"
                  aria-label={`Edit ${titleOfRule(rule.rule)}`}
                  onClick={() => setEditing(rule)}
                >
                  Edit
                </Button>
              )}
              <ToggleButton name={titleOfRule(rule.rule)} isOn={rule.enabled} onToggle={() => toggle(rule)} />
            </>
          )),
        ]}
      />
      {editing !== undefined && <ThresholdDialog scope={scope} rule={editing} onClose={() => setEditing(undefined)} />}
    </Section>
  );
}

/** The channels that may get alerts of a rule; a channel for severe alerts alone says so. @param names By which channels choose it. */
export function receiversColumn<Rule>(
  channels: readonly AlertChannel[],
  names: (rule: Rule) => readonly string[],
): Column<Rule> {
  return {
    name: "Sent to",
    className: "break",
    cell: (rule) => {
      const takers = channels.filter(
        ({ rules: chosen }) => chosen === null || names(rule).some((name) => chosen.includes(name)),
      );
      if (takers.length === 0) return <span className="soft">nobody</span>;
      const toText = ({ name, severity }: AlertChannel) => (severity === "info" ? name : `${name} (from ${severity})`);
      return takers.map(toText).join(", ");
    },
  };
}

/** Whether a rule is on. */
export const statusColumn: Column<{ readonly enabled: boolean }> = {
  name: "Status",
  cell: ({ enabled }) => <span className={enabled ? "badge is-good" : "badge"}>{enabled ? "on" : "off"}</span>,
};

/** Turns a rule on or off. */
export function ToggleButton({ name, isOn, onToggle }: { name: string; isOn: boolean; onToggle: () => void }) {
  return (
    <Button look="plain small" aria-label={`Turn ${isOn ? "off" : "on"} ${name}`} onClick={onToggle}>
      {isOn ? "Turn off" : "Turn on"}
    </Button>
  );
}

function ThresholdDialog({ scope, rule, onClose }: { scope: AlertScope; rule: AlertRule; onClose: () => void }) {
  const form = useForm({ threshold: rule.threshold ?? "" }, async ({ threshold }) => {
    await setRule(scope, rule.rule, { enabled: rule.enabled, threshold: threshold.trim() });
    onClose();
  });
  return (
    <FormDialog
      title={titleOfRule(rule.rule)}
      form={form}
      isComplete={form.values.threshold.trim() !== ""}
      onClose={onClose}
    >
      <TextField
        label={ruleTitles[rule.rule]?.threshold ?? "Threshold"}
        inputMode="decimal"
        autoComplete="off"
        autoFocus
        {...form.field("threshold")}
      />
    </FormDialog>
  );
}

function formatThreshold({ unit, threshold }: AlertRule): string {
  if (threshold === null) return "–";
  if (unit === "usd") return formatUsd(threshold);
  return unit === "percent" ? `${threshold} %` : `${threshold} days`;
}
