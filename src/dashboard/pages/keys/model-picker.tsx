import { useState } from "react";
import { capabilityNames, useModels } from "../../data/models.ts";
import { Icon } from "../../ui/icon.tsx";

/** All models, or those that are ticked. */
export function ModelPicker({
  chosen,
  onChoose,
  wrong,
}: {
  chosen: readonly string[] | undefined;
  onChoose: (models: readonly string[] | undefined) => void;
  wrong: string | undefined;
}) {
  return (
    <fieldset className="field">
      <legend className="label legend">Models</legend>
      <div className="stack stack-tight">
        <label className="check">
          <input type="radio" name="models" checked={chosen === undefined} onChange={() => onChoose(undefined)} />
          All, those to come too
        </label>
        <label className="check">
          <input type="radio" name="models" checked={chosen !== undefined} onChange={() => onChoose([])} />
          Only these
        </label>
        {chosen !== undefined && <Ticks chosen={chosen} onChoose={onChoose} />}
      </div>
      {wrong !== undefined && (
        <span className="wrong" role="alert">
          {wrong}
        </span>
      )}
    </fieldset>
  );
}

function Ticks({ chosen, onChoose }: { chosen: readonly string[]; onChoose: (models: readonly string[]) => void }) {
  const { data: models } = useModels();
  const [search, setSearch] = useState("");
  const wanted = search.trim().toLowerCase();
  const shown = (models?.data ?? []).filter(({ id }) => id.toLowerCase().includes(wanted));
  const toggle = (id: string) =>
    onChoose(chosen.includes(id) ? chosen.filter((known) => known !== id) : [...chosen, id]);
  return (
    <>
      <div className="search">
        <Icon name="search" size={16} />
        <input
          className="input"
          type="search"
          aria-label="Search models"
          placeholder={`Search; ${chosen.length} chosen`}
          value={search}
          onChange={(event) => setSearch(event.target.value)}
        />
      </div>
      <ul className="ticks">
        {shown.map(({ id, capability }) => (
          <li key={id}>
            <label className="check">
              <input type="checkbox" checked={chosen.includes(id)} onChange={() => toggle(id)} />
              <span className="break">{id}</span>
              <span className="faint ticks-end">{capabilityNames[capability]}</span>
            </label>
          </li>
        ))}
        {models !== undefined && shown.length === 0 && <li className="faint">No model has this in its name</li>}
      </ul>
    </>
  );
}
