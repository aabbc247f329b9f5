import { type ReactNode, useState } from "react";
import { useGateway } from "../../data/gateway.ts";
import type { Model } from "../../data/models.ts";
import { Code } from "../../ui/copy.tsx";
import { Field } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";

/** What every panel is given: the model that is tried, and those that could be. */
export interface PanelProps {
  readonly model: Model;
  readonly models: readonly Model[];
  readonly onModel: (id: string) => void;
}

/** Settings beside what they are of; on a phone above it. */
export function Panel({
  settings,
  curl,
  children,
}: {
  settings: ReactNode;
  /** The same call for a terminal. */
  curl: string;
  children: ReactNode;
}) {
  const [showsCurl, setShowsCurl] = useState(false);
  return (
    <div className="play">
      <section className="card card-body stack play-settings" aria-label="Settings">
        {settings}
      </section>
      <div className="stack play-main">
        {children}
        <div>
          <button type="button" className="btn" aria-expanded={showsCurl} onClick={() => setShowsCurl(!showsCurl)}>
            <Icon name="list" size={15} />
            {showsCurl ? "Hide the curl command" : "Show as curl"}
          </button>
        </div>
        {showsCurl && <Code text={curl} label="the curl command" />}
      </div>
    </div>
  );
}

export function ModelField({ model, models, onModel }: PanelProps) {
  return (
    <Field label="Model" hint={model.premium ? "Premium: paid from the wallet" : "Draws on the free quota of the day"}>
      {(tied) => (
        <select {...tied} className="input" value={model.id} onChange={(event) => onModel(event.target.value)}>
          {models.map(({ id }) => (
            <option key={id} value={id}>
              {id}
            </option>
          ))}
        </select>
      )}
    </Field>
  );
}

/** Where the API stands, as programs are told. */
export function useBaseUrl(): string {
  const { data: gateway } = useGateway();
  return `${location.origin}${gateway?.base_path ?? "/v1"}`;
}
