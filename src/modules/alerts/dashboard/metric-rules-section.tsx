import { useState } from "react";
import { useMayAdminister } from "../../../dashboard/data/roles.ts";
import { type Field, useResource } from "../../../dashboard/features/resources/api.ts";
import { type Adjust, ResourceDialog } from "../../../dashboard/features/resources/form.tsx";
import { formatUsd } from "../../../dashboard/format.ts";
import { Button } from "../../../dashboard/kit/button.tsx";
import { Confirm } from "../../../dashboard/kit/confirm.tsx";
import { Empty } from "../../../dashboard/kit/feedback.tsx";
import { Section } from "../../../dashboard/kit/page.tsx";
import { actionsColumn, Table } from "../../../dashboard/kit/table.tsx";
import { toastError } from "../../../dashboard/kit/toast.tsx";
import { type AlertChannel, deleteMetricRule, type MetricRule, refresh, turnMetricRule } from "./api.ts";
import { receiversColumn, statusColumn, ToggleButton } from "./rules-section.tsx";

/** Minutes of windows that are whole hours: these can be compared with other days. */
const comparedWindows: readonly string[] = ["60", "1440"];
const units: Readonly<Record<MetricRule["metric"], string>> = {
  error_rate: "%",
  first_byte_p95: "ms",
  duration_p95: "ms",
  spend: "USD",
  calls: "calls",
};
const subjectLabels: Readonly<Record<MetricRule["scope"], string>> = {
  gateway: "",
  provider: "Provider",
  model: "Model",
  account: "Email or account ID",
  key: "Key ID",
};

/** Rules of the operator's own: a metric of some calls over a while. */
export function MetricRulesSection({
  rules,
  channels,
}: {
  rules: readonly MetricRule[];
  channels: readonly AlertChannel[];
}) {
  const [open, setOpen] = useState<{ rule: MetricRule | undefined }>();
  const [removed, setRemoved] = useState<MetricRule>();
  const mayChange = useMayAdminister();
  const fields = useResource("custom rule")?.fields ?? [];
  return (
    <Section
      title="Custom rules"
      actions={
        mayChange && (
          <Button look="small" icon="plus" onClick={() => setOpen({ rule: undefined })}>
            Add rule
          </Button>
        )
      }
    >
      <Table
        rows={rules}
        rowKey={({ id }) => id}
        sortName="own"
        empty={
          <Empty icon="bell" title="No custom rules">
            <p>Get notified when errors, latency or spend of a provider, model, account or key pass a threshold.</p>
          </Empty>
        }
        columns={[
          {
            name: "Rule",
            className: "lead",
            cell: (rule) => (
              <>
                {rule.name}
                <span className="sub break">{describeRule(rule, fields)}</span>
              </>
            ),
          },
          receiversColumn(channels, ({ id }: MetricRule) => ["metric", id]),
          statusColumn,
          actionsColumn<MetricRule>(
            (rule) =>
              mayChange && (
                <>
                  <Button look="plain small" aria-label={`Edit ${rule.name}`} onClick={() => setOpen({ rule })}>
                    Edit
                  </Button>
                  <ToggleButton
                    name={rule.name}
                    isOn={rule.enabled}
                    onToggle={() => void turnMetricRule(rule.id, !rule.enabled).catch(toastError)}
                  />
                  <Button look="plain small" aria-label={`Delete ${rule.name}`} onClick={() => setRemoved(rule)}>
                    Delete
                  </Button>
                </>
              ),
          ),
        ]}
      />
      {open !== undefined && (
        <ResourceDialog
          name="custom rule"
          title={open.rule === undefined ? "New rule" : "Edit rule"}
          description="Checked every minute."
          entry={open.rule}
          adjust={adjust}
          onSaved={() => refresh("admin")}
          onClose={() => setOpen(undefined)}
        />
      )}
      {removed !== undefined && (
        <Confirm
          title={`Delete the rule “${removed.name}”?`}
          action="Delete rule"
          act={() => deleteMetricRule(removed.id)}
          onClose={() => setRemoved(undefined)}
        >
          Its active alerts are resolved within minutes.
        </Confirm>
      )}
    </Section>
  );
}

/** Says a rule in a sentence, with the words of the form of its fields. */
function describeRule(rule: MetricRule, fields: readonly Field[]): string {
  const { metric, scope, subject, threshold, baseline_days: days, minimum } = rule;
  const labelOf = (name: "metric" | "comparison" | "baseline_days" | "minutes") => {
    const choices = fields.find((field) => field.name === name)?.choices ?? [];
    return choices.find(([value]) => value === String(rule[name]))?.[1] ?? String(rule[name]);
  };
  const of = scope === "gateway" ? "of all calls" : `of ${scope} ${subject}`;
  const toValue = (text: string) => (metric === "spend" ? formatUsd(text) : `${text} ${units[metric]}`);
  const baseline = `${threshold} times the ${labelOf("baseline_days")} (at least ${toValue(minimum)})`;
  const value = days === 0 ? toValue(threshold) : baseline;
  return `${labelOf("metric")} ${of} ${labelOf("comparison")} ${value} in ${labelOf("minutes")}`;
}

/** The words and choices that depend on other fields. */
const adjust: Adjust = ({ name, choices }, { scope, metric, baseline_days: days }) => {
  const unit = units[metric as MetricRule["metric"]];
  const isRelative = days !== "0";
  if (name === "enabled") return false;
  if (name === "scope") return { isHalf: scope !== "gateway" };
  if (name === "subject") return { label: subjectLabels[scope as MetricRule["scope"]], isRequired: true };
  if (name === "threshold") return { label: isRelative ? "Times" : `Threshold (${unit})` };
  if (name === "baseline_days") return { isRequired: true, isHalf: isRelative };
  if (name === "minimum") return { label: `At least (${unit})`, isRequired: true };
  if (name === "minutes") {
    const compared = choices.filter(([minutes]) => comparedWindows.includes(minutes));
    return { isHalf: isShare(metric), ...(isRelative && { choices: compared, initial: "1440" }) };
  }
  return { isRequired: name !== "min_calls" };
};

function isShare(metric: string | undefined): boolean {
  return metric !== "spend" && metric !== "calls";
}
