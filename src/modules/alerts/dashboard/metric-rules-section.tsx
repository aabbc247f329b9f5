import { useState } from "react";
import { useMayAdminister } from "../../../dashboard/data/roles.ts";
import { formatUsd } from "../../../dashboard/format.ts";
import { Button } from "../../../dashboard/kit/button.tsx";
import { Confirm } from "../../../dashboard/kit/confirm.tsx";
import { Empty } from "../../../dashboard/kit/feedback.tsx";
import { SelectField, TextField } from "../../../dashboard/kit/field.tsx";
import { FormDialog, useForm } from "../../../dashboard/kit/form.tsx";
import { Section } from "../../../dashboard/kit/page.tsx";
import { actionsColumn, Table } from "../../../dashboard/kit/table.tsx";
import { toastError } from "../../../dashboard/kit/toast.tsx";
import { type AlertChannel, deleteMetricRule, type MetricRule, saveMetricRule } from "./api.ts";
import { receiversColumn, statusColumn, ToggleButton } from "./rules-section.tsx";

const metrics = [
  ["error_rate", "Error rate (calls with 500 or above)"],
  ["first_byte_p95", "Time to first token (p95)"],
  ["duration_p95", "Duration (p95)"],
  ["spend", "Spend"],
  ["calls", "Calls"],
] as const;
const scopes = [
  ["gateway", "All calls"],
  ["provider", "A provider"],
  ["model", "A model"],
  ["account", "An account or team"],
  ["key", "An API key"],
] as const;
const comparisons = [
  ["above", "is above"],
  ["below", "is below"],
] as const;
const severities = [
  ["info", "Info"],
  ["warning", "Warning"],
  ["critical", "Critical"],
] as const;
const baselines = [
  ["0", "a fixed value"],
  ["1", "same hours, day before"],
  ["7", "same hours, last 7 days"],
  ["28", "same hours, last 28 days"],
] as const;
/** Minutes of windows that are whole hours: these can be compared with other days. */
const comparedWindows: readonly string[] = ["60", "1440"];
const windows = [
  ["5", "5 minutes"],
  ["15", "15 minutes"],
  ["60", "an hour"],
  ["1440", "24 hours"],
  ["10080", "7 days"],
  ["43200", "30 days"],
] as const;
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
                <span className="sub break">{describeRule(rule)}</span>
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
                    onToggle={() =>
                      void saveMetricRule(toBody({ ...rule, enabled: !rule.enabled }), rule.id).catch(toastError)
                    }
                  />
                  <Button look="plain small" aria-label={`Delete ${rule.name}`} onClick={() => setRemoved(rule)}>
                    Delete
                  </Button>
                </>
              ),
          ),
        ]}
      />
      {open !== undefined && <RuleDialog rule={open.rule} onClose={() => setOpen(undefined)} />}
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

const labelOf = <Name extends string>(options: readonly (readonly [Name, string])[], name: string) =>
  options.find(([metric]) => metric === name)?.[1] ?? name;

function describeRule(rule: MetricRule): string {
  const { metric, scope, subject, comparison, threshold, minutes, baseline_days: days, minimum } = rule;
  const of = scope === "gateway" ? "of all calls" : `of ${scope} ${subject}`;
  const toValue = (text: string) => (metric === "spend" ? formatUsd(text) : `${text} ${units[metric]}`);
  const baseline = `${threshold} times the ${labelOf(baselines, String(days))} (at least ${toValue(minimum)})`;
  const value = days === 0 ? toValue(threshold) : baseline;
  return `${labelOf(metrics, metric)} ${of} ${labelOf(comparisons, comparison)} ${value} in ${labelOf(windows, String(minutes))}`;
}

function toBody({
  name,
  metric,
  scope,
  subject,
  comparison,
  threshold,
  baseline_days,
  minimum,
  minutes,
  min_calls,
  severity,
  enabled,
}: Omit<MetricRule, "id" | "object" | "unit">) {
  return {
    name,
    metric,
    scope,
    comparison,
    threshold,
    baseline_days,
    minimum,
    minutes,
    min_calls,
    severity,
    enabled,
    ...(scope !== "gateway" && { subject }),
  };
}

function RuleDialog({ rule, onClose }: { rule: MetricRule | undefined; onClose: () => void }) {
  const initial = {
    name: rule?.name ?? "",
    metric: rule?.metric ?? "error_rate",
    scope: rule?.scope ?? "gateway",
    subject: rule?.subject ?? "",
    comparison: rule?.comparison ?? "above",
    threshold: rule?.threshold ?? "",
    minutes: String(rule?.minutes ?? 15),
    min_calls: String(rule?.min_calls ?? 20),
    baseline_days: String(rule?.baseline_days ?? 0),
    minimum: rule?.minimum ?? "",
    severity: rule?.severity ?? "warning",
  };
  const form = useForm(
    initial as typeof initial & Pick<MetricRule, "metric" | "scope" | "comparison" | "severity">,
    async (values) => {
      const days = Number(values.baseline_days);
      const numbers = { minutes: Number(values.minutes), min_calls: Number(values.min_calls), baseline_days: days };
      const texts = {
        name: values.name.trim(),
        subject: values.subject.trim(),
        threshold: values.threshold.trim(),
        minimum: days === 0 ? "" : values.minimum.trim(),
      };
      await saveMetricRule(toBody({ ...values, ...texts, ...numbers, enabled: rule?.enabled ?? true }), rule?.id);
      onClose();
    },
  );
  const { name, metric, scope, subject, comparison, threshold, minutes, severity } = form.values;
  const { baseline_days: days, minimum } = form.values;
  const isRelative = days !== "0";
  const shownWindows = isRelative ? windows.filter(([span]) => comparedWindows.includes(span)) : windows;
  const compareWith = (chosen: string) => {
    const isCompared = chosen === "0" || comparedWindows.includes(minutes);
    form.set({ baseline_days: chosen, ...(!isCompared && { minutes: "1440" }) });
  };
  const isShare = metric !== "spend" && metric !== "calls";
  return (
    <FormDialog
      title={rule === undefined ? "New rule" : "Edit rule"}
      description="Checked every minute."
      form={form}
      isComplete={
        name.trim() !== "" &&
        threshold.trim() !== "" &&
        (scope === "gateway" || subject.trim() !== "") &&
        (!isRelative || minimum.trim() !== "")
      }
      onClose={onClose}
    >
      <div className="grid-two">
        <TextField label="Name" autoComplete="off" placeholder="Spend tripled" autoFocus {...form.field("name")} />
        <SelectField
          label="Severity"
          options={severities}
          value={severity}
          onText={(chosen) => form.set({ severity: chosen })}
        />
      </div>
      <SelectField label="Metric" options={metrics} value={metric} onText={(chosen) => form.set({ metric: chosen })} />
      <div className="grid-two">
        <SelectField label="Scope" options={scopes} value={scope} onText={(chosen) => form.set({ scope: chosen })} />
        {scope !== "gateway" && (
          <TextField label={subjectLabels[scope]} autoComplete="off" {...form.field("subject")} />
        )}
      </div>
      <div className="grid-two">
        <SelectField
          label="Condition"
          options={comparisons}
          value={comparison}
          onText={(chosen) => form.set({ comparison: chosen })}
        />
        <TextField
          label={isRelative ? "Times" : `Threshold (${units[metric]})`}
          inputMode="decimal"
          autoComplete="off"
          {...form.field("threshold")}
        />
      </div>
      <div className="grid-two">
        <SelectField
          label="Compared with"
          options={baselines}
          value={days as (typeof baselines)[number][0]}
          onText={compareWith}
        />
        {isRelative && (
          <TextField
            label={`At least (${units[metric]})`}
            inputMode="decimal"
            autoComplete="off"
            {...form.field("minimum")}
            hint="Smaller values raise no alert"
          />
        )}
      </div>
      <div className="grid-two">
        <SelectField
          label="Over the last"
          options={shownWindows}
          value={minutes as (typeof windows)[number][0]}
          onText={(chosen) => form.set({ minutes: chosen })}
        />
        {isShare && (
          <TextField
            label="At least this many calls"
            inputMode="numeric"
            autoComplete="off"
            {...form.field("min_calls")}
            hint="With fewer, no alert is sent"
          />
        )}
      </div>
    </FormDialog>
  );
}
