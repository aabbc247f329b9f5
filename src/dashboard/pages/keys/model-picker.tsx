import { useState } from "react";
import { capabilityNames, useModels } from "../../data/models.ts";
import { SearchField } from "../../ui/field.tsx";

export function ModelPicker({
  selected,
  onSelect,
  error,
}: {
  selected: readonly string[] | undefined;
  onSelect: (models: readonly string[] | undefined) => void;
  error: string | undefined;
}) {
  return (
    <fieldset className="field">
      <legend className="label legend">Models</legend>
      <div className="stack stack-tight">
        <label className="check">
          <input type="radio" name="models" checked={selected === undefined} onChange={() => onSelect(undefined)} />
          All models, including future ones
        </label>
        <label className="check">
          <input type="radio" name="models" checked={selected !== undefined} onChange={() => onSelect([])} />
          Only selected models
        </label>
        {selected !== undefined && <ModelChecklist selected={selected} onSelect={onSelect} />}
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
  selected,
  onSelect,
}: {
  selected: readonly string[];
  onSelect: (models: readonly string[]) => void;
}) {
  const { data: models } = useModels();
  const [search, setSearch] = useState("");
  const query = search.trim().toLowerCase();
  const shown = (models?.data ?? []).filter(({ id }) => id.toLowerCase().includes(query));
  const toggle = (id: string) =>
    onSelect(selected.includes(id) ? selected.filter((known) => known !== id) : [...selected, id]);
  return (
    <>
      <SearchField
        label="Search models"
        placeholder={`Search (${selected.length} selected)`}
        value={search}
        onText={setSearch}
      />
      <ul className="ticks">
        {shown.map(({ id, capability }) => (
          <li key={id}>
            <label className="check">
              <input type="checkbox" checked={selected.includes(id)} onChange={() => toggle(id)} />
              <span className="break">{id}</span>
              <span className="faint ticks-end">{capabilityNames[capability]}</span>
            </label>
          </li>
        ))}
        {models !== undefined && shown.length === 0 && <li className="faint">No models match</li>}
      </ul>
    </>
  );
}
