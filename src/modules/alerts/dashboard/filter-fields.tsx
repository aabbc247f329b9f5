import { Check, SelectField } from "../../../dashboard/kit/field.tsx";
import type { ChannelFilter, ChannelKind, MetricRule } from "./api.ts";
import { ruleTitles } from "./rule-titles.ts";

/** The choices of a form about the messages of a channel. */
interface FilterValues {
  readonly severity: ChannelFilter["severity"];
  readonly isChosen: boolean;
  readonly rules: readonly string[];
  readonly digest: ChannelFilter["digest"];
  readonly digest_hour: string;
}

export const filterDefault: FilterValues = {
  severity: "info",
  isChosen: false,
  rules: [],
  digest: "off",
  digest_hour: "8",
};

export function toFilterValues({ rules, severity, digest, digest_hour: hour }: ChannelFilter): FilterValues {
  return { severity, isChosen: rules !== null, rules: rules ?? [], digest, digest_hour: String(hour) };
}

export function toFilter({ severity, isChosen, rules, digest, digest_hour: hour }: FilterValues, kind: ChannelKind) {
  return {
    severity,
    rules: isChosen ? [...rules] : null,
    digest: kind === "pagerduty" ? ("off" as const) : digest,
    digest_hour: Number(hour),
  };
}

const severities = [
  ["info", "All alerts"],
  ["warning", "Warning and critical"],
  ["critical", "Critical only"],
] as const;
const digests = [
  ["off", "No digest"],
  ["daily", "Daily"],
  ["weekly", "Weekly, on Mondays"],
] as const;
const hours = Array.from(
  { length: 24 },
  (_, hour) => [String(hour), `${String(hour).padStart(2, "0")}:00 UTC`] as const,
);
const ruleChoices = [
  ["all", "All rules"],
  ["chosen", "Chosen rules"],
] as const;

interface FilterFieldsProps {
  form: { readonly values: FilterValues; set(change: Partial<FilterValues>): void };
  kind: ChannelKind;
  metricRules: readonly MetricRule[];
}

/** The fields that choose the alerts and digests of a channel. */
export function FilterFields({ form: { values, set }, kind, metricRules }: FilterFieldsProps) {
  const { severity, isChosen, rules, digest, digest_hour: hour } = values;
  const isForPeople = kind !== "pagerduty";
  return (
    <>
      <div className="grid-two">
        <SelectField
          label="Severity"
          options={severities}
          value={severity}
          onText={(chosen) => set({ severity: chosen })}
        />
        <SelectField
          label="Rules"
          options={ruleChoices}
          value={isChosen ? "chosen" : "all"}
          onText={(chosen) => set({ isChosen: chosen === "chosen" })}
        />
      </div>
      {isChosen && <RulePicker rules={rules} metricRules={metricRules} onRules={(chosen) => set({ rules: chosen })} />}
      {isForPeople && (
        <div className="grid-two">
          <SelectField label="Digest" options={digests} value={digest} onText={(chosen) => set({ digest: chosen })} />
          {digest !== "off" && (
            <SelectField
              label="Sent at"
              options={hours}
              value={hour}
              onText={(chosen) => set({ digest_hour: chosen })}
            />
          )}
        </div>
      )}
    </>
  );
}

function RulePicker({
  rules,
  metricRules,
  onRules,
}: {
  rules: readonly string[];
  metricRules: readonly MetricRule[];
  onRules: (rules: readonly string[]) => void;
}) {
  const all = [
    ...Object.entries(ruleTitles).map(([rule, { title }]) => [rule, title] as const),
    ["metric", "All custom rules"] as const,
    ...metricRules.map(({ id, name }) => [id, name] as const),
  ];
  return (
    <fieldset className="field">
      <legend className="label legend">Alerts of</legend>
      <div className="grid-two">
        {all.map(([rule, title]) => (
          <Check
            key={rule}
            checked={rules.includes(rule)}
            onCheck={(isOn) => onRules(isOn ? [...rules, rule] : rules.filter((one) => one !== rule))}
          >
            {title}
          </Check>
        ))}
      </div>
    </fieldset>
  );
}
