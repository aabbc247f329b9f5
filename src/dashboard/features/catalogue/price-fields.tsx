import { useId } from "react";
import { formatUsd } from "../../format.ts";
import { TextField } from "../../kit/field.tsx";
import { describeMarkup, useMarkups } from "../markups/markup-section.tsx";
import type { ModelRow } from "../models/api.ts";
import { type Meter, meters } from "../models/meters.ts";
import { exampleCost, type RateDraft, type RowDraft, shownMeters } from "./row-draft.ts";

/** The price of a model: dollars for a number of units of each meter, and what a call costs by it. */
export function PriceFields({
  draft,
  hidden,
  onChange,
}: {
  draft: RowDraft;
  /** Rates of the price that the form does not show. */
  hidden?: ModelRow["price"];
  onChange: (change: Partial<RowDraft>) => void;
}) {
  const setRate = (meter: Meter, change: Partial<RateDraft>) =>
    onChange({ rates: { ...draft.rates, [meter]: { ...draft.rates[meter], ...change } } });
  const { text, usd } = exampleCost(draft);
  const { data: markups = [] } = useMarkups();
  const markup = describeMarkup(markups, { provider: draft.plugin, ofModel: draft.markupPercent.trim() || undefined });
  const serviceTiers = Object.keys(hidden?.serviceTiers ?? {});
  const others = [
    ...(hidden?.tiers === undefined ? [] : ["for long prompts"]),
    ...(serviceTiers.length === 0 ? [] : [`of the service tiers ${serviceTiers.join(", ")}`]),
  ];
  return (
    <fieldset className="fields">
      <legend className="legend label">Price</legend>
      <div className="field-grid">
        {shownMeters(draft).map((meter) => (
          <RateField
            key={meter}
            meter={meter}
            rate={draft.rates[meter]}
            onChange={(change) => setRate(meter, change)}
          />
        ))}
        <TextField
          label="Markup of this model (%)"
          inputMode="decimal"
          autoComplete="off"
          placeholder="that of the provider"
          value={draft.markupPercent}
          onText={(markupPercent) => onChange({ markupPercent })}
        />
      </div>
      <p className="hint" aria-live="polite">
        {usd === undefined
          ? `A call with ${text} has no known cost: a rate is missing or not a number.`
          : `A call with ${text} costs ${formatUsd(usd.toFixed(9))}.`}
        {markup !== undefined && ` It is sold at ${markup}.`}
        {others.length > 0 && ` The rates ${others.join(" and ")} stay as they are; edit them as JSON.`} Once saved, the
        whole price is yours: updates of models and prices no longer change it.
      </p>
    </fieldset>
  );
}

function RateField({
  meter,
  rate: { usd, per },
  onChange,
}: {
  meter: Meter;
  rate: RateDraft;
  onChange: (change: Partial<RateDraft>) => void;
}) {
  const id = useId();
  const { name, sizes: units } = meters[meter];
  const isListed = units.some(([size]) => size === per);
  const options = isListed ? units : [...units, [per, `${per} units`] as const];
  return (
    <div className="field">
      <label htmlFor={id}>{name} (USD)</label>
      <div className="joined">
        <input
          id={id}
          className="input"
          inputMode="decimal"
          autoComplete="off"
          placeholder="no price"
          value={usd}
          onChange={(event) => onChange({ usd: event.target.value })}
        />
        <select
          className="input"
          aria-label={`${name} per`}
          value={per}
          onChange={(event) => onChange({ per: Number(event.target.value) })}
        >
          {options.map(([size, unit]) => (
            <option key={size} value={size}>
              per {unit}
            </option>
          ))}
        </select>
      </div>
    </div>
  );
}
