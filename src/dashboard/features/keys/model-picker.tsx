import { useState } from "react";
import { Check, SearchField } from "../../kit/field.tsx";
import { type Capability, capabilityNames } from "../models/api.ts";

/** One to choose; a virtual model has no capability. */
export interface ModelChoice {
  readonly id: string;
  /** The name that people use; absent: its id. */
  readonly name?: string;
  readonly capability?: Capability;
}

export function ModelPicker({
  label = "Models",
  models,
  selected,
  onSelect,
  error,
}: {
  label?: string;
  /** Absent while they are loaded. */
  models: readonly ModelChoice[] | undefined;
  selected: readonly string[] | undefined;
  onSelect: (models: readonly string[] | undefined) => void;
  error: string | undefined;
}) {
  return (
    <fieldset className="field">
      <legend className="label legend">{label}</legend>
      <div className="stack stack-tight">
        <Check type="radio" name="models" checked={selected === undefined} onCheck={() => onSelect(undefined)}>
          All models, including future ones
        </Check>
        <Check type="radio" name="models" checked={selected !== undefined} onCheck={() => onSelect([])}>
          Only selected models
        </Check>
        {selected !== undefined && <ModelChecklist models={models} selected={selected} onSelect={onSelect} />}
      </div>
      {error !== undefined && (
        <span className="wrong" role="alert">
          {error}
        </span>
      )}
    </fieldset>
  );
}

function ModelChecklist({
  models = [],
  selected,
  onSelect,
}: {
  models: readonly ModelChoice[] | undefined;
  selected: readonly string[];
  onSelect: (models: readonly string[]) => void;
}) {
  const [search, setSearch] = useState("");
  const query = search.trim().toLowerCase();
  const [first] = useState(selected);
  /** The list lacks some selected names, such as virtual models; people must be able to remove these too. */
  const others = first.filter((id) => !models.some((model) => model.id === id)).map((id): ModelChoice => ({ id }));
  const shown = [...models, ...others]
    .filter(({ id, name = id }) => `${name} ${id}`.toLowerCase().includes(query))
    .sort((one, other) => (one.name ?? one.id).localeCompare(other.name ?? other.id));
  const toggle = (id: string) =>
    onSelect(selected.includes(id) ? selected.filter((one) => one !== id) : [...selected, id]);
  return (
    <>
      <SearchField
        label="Search models"
        placeholder={`Search (${selected.length} selected)`}
        value={search}
        onText={setSearch}
      />
      <ul className="ticks">
        {shown.map(({ id, name, capability }) => (
          <li key={id}>
            <Check checked={selected.includes(id)} onCheck={() => toggle(id)}>
              <span className="break">{name ?? id}</span>
              <span className="faint ticks-end">{capability ? capabilityNames[capability] : ""}</span>
            </Check>
          </li>
        ))}
        {models.length > 0 && shown.length === 0 && <li className="faint">No models match</li>}
      </ul>
    </>
  );
}
