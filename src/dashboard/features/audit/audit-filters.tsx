import { listRanges } from "../../data/time-range.ts";
import { Field, SelectField } from "../../kit/field.tsx";
import { DebouncedField, SpanFields } from "../../kit/log.tsx";
import { useParts } from "../../kit/modules.tsx";
import { setParams } from "../../kit/url-state.ts";
import { mergeTexts } from "./audit-text.ts";

export function AuditFilters({ params }: { params: URLSearchParams }) {
  const { actors = {}, groups } = mergeTexts(useParts());
  const value = (name: string) => params.get(name) ?? "";
  const isCustom = ["from", "until"].some((name) => params.has(name)) || value("span") === "custom";
  return (
    <div className="filters">
      <DebouncedField
        label="Actor"
        placeholder="Email or account ID"
        list="audit-actors"
        value={value("actor")}
        onText={(actor) => setParams({ actor })}
      />
      <datalist id="audit-actors">
        {Object.entries(actors).map(([actor, label]) => (
          <option key={actor} value={actor} label={label} />
        ))}
      </datalist>
      <Field label="Action">
        {(control) => (
          <select
            {...control}
            className="input"
            value={value("action")}
            onChange={({ target }) => setParams({ action: target.value })}
          >
            <option value="">Any action</option>
            {groups.map(({ name: group, label, actions }) => (
              <optgroup key={group} label={label}>
                <option value={group}>{label}: all</option>
                {Object.entries(actions).map(([action, name]) => (
                  <option key={action} value={`${group}.${action}`}>
                    {name}
                  </option>
                ))}
              </optgroup>
            ))}
          </select>
        )}
      </Field>
      <DebouncedField
        label="Target"
        placeholder="Email, or the ID of anything"
        value={value("subject")}
        onText={(subject) => setParams({ subject })}
      />
      <SelectField
        label="Time"
        options={[...listRanges, ["custom", "Custom"]]}
        value={isCustom ? "custom" : value("span")}
        onText={(span) => setParams({ span, from: "", until: "" })}
      />
      {isCustom && <SpanFields params={params} />}
    </div>
  );
}
