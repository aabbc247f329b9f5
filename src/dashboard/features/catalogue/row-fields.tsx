import { Check, SelectField, TextField } from "../../kit/field.tsx";
import type { useForm } from "../../kit/form.tsx";
import { featureNames } from "../models/api.ts";
import { featuresOf, type RowDraft } from "./row-draft.ts";

export const billings = [
  ["wallet", "Wallet (paid)"],
  ["free", "Free quota"],
] as const;
const endings = [
  ["", "Refuse calls"],
  ["successor", "Let the successor answer"],
  ["serve", "Call the provider as before"],
] as const;

const reasonings = [
  ["", "Automatic"],
  ["yes", "May hide its reasoning"],
  ["no", "Shows all of its output"],
] as const;

/** The fields of a row other than its price. */
export function RowFields({ form }: { form: ReturnType<typeof useForm<RowDraft>> }) {
  const { values, set, field } = form;
  const features = featuresOf[values.capability] ?? [];
  const toggle = (name: string) =>
    set({
      features: values.features.includes(name)
        ? values.features.filter((one) => one !== name)
        : [...values.features, name],
    });
  return (
    <>
      <div className="field-grid">
        <TextField label="Source of the price" placeholder="https://…" {...field("source")} />
        <TextField label="Checked on" type="date" {...field("checkedOn")} />
        <SelectField
          label="Billing"
          options={billings}
          value={values.premium ? "wallet" : "free"}
          onText={(billing) => set({ premium: billing === "wallet" })}
        />
        <TextField label="Aliases" hint="Other names, separated by commas" {...field("aliases")} />
        <TextField label="Name at the provider" {...field("upstreamId")} />
        <TextField
          label="Priority"
          inputMode="numeric"
          placeholder="100"
          hint="Lower is tried first"
          {...field("priority")}
        />
        <TextField
          label="Weight"
          inputMode="numeric"
          placeholder="1"
          hint="Load-balancing weight"
          {...field("weight")}
        />
        <TextField label="Context window (tokens)" inputMode="numeric" {...field("contextTokens")} />
        <TextField label="Max output (tokens)" inputMode="numeric" {...field("outputTokensMax")} />
        {values.rates.page.usd !== "" && (
          <TextField label="Max pages of a call" inputMode="numeric" {...field("pagesMax")} />
        )}
        {values.rates.second.usd !== "" && (
          <TextField label="Max seconds of a call" inputMode="numeric" {...field("secondsMax")} />
        )}
        <TextField label="Retired on" type="date" {...field("retiredOn")} />
        <TextField label="Successor" {...field("successor")} />
        <SelectField
          label="Once it is retired"
          options={endings}
          value={values.whenRetired === "refuse" ? "" : values.whenRetired}
          onText={(whenRetired) => set({ whenRetired })}
        />
        {values.capability === "chat" && (
          <SelectField
            label="Reasoning"
            options={reasonings}
            value={values.reasoning}
            onText={(reasoning) => set({ reasoning })}
          />
        )}
      </div>
      {features.length > 0 && (
        <fieldset className="fields">
          <legend className="legend label">Features</legend>
          <div className="row">
            {features.map((name) => (
              <Check key={name} checked={values.features.includes(name)} onCheck={() => toggle(name)}>
                {featureNames[name]}
              </Check>
            ))}
          </div>
        </fieldset>
      )}
      <Check checked={values.disabled} onCheck={(isChecked) => set({ disabled: isChecked })}>
        Disabled: not listed, and calls of it are refused
      </Check>
    </>
  );
}
