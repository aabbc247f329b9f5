import { type ReactNode, useState } from "react";
import { useGateway } from "../../data/api.ts";
import type { Model } from "../../data/models.ts";
import { Code } from "../../ui/copy.tsx";
import { SelectField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";

const authorization = `-H "Authorization: Bearer $MODELGATE_KEY"`;

/** The props of every panel: the selected model and the choices. */
export interface PanelProps {
  readonly model: Model;
  readonly models: readonly Model[];
  readonly onModel: (id: string) => void;
}

/** The layout of a panel: settings beside the content, or above it on a phone. */
export function Panel({
  settings,
  curl,
  children,
}: {
  settings: ReactNode;
  /** The request as a curl command. */
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
            {showsCurl ? "Hide curl" : "Show as curl"}
          </button>
        </div>
        {showsCurl && <Code text={curl} label="curl command" />}
      </div>
    </div>
  );
}

export function ModelField({ model, models, onModel }: PanelProps) {
  return (
    <SelectField
      label="Model"
      hint={model.premium ? "Billing: wallet" : "Billing: free quota"}
      options={models.map(({ id }) => [id, id])}
      value={model.id}
      onText={onModel}
    />
  );
}

/** The base URL of the API. */
export function useBaseUrl(): string {
  const { data: gateway } = useGateway();
  return `${location.origin}${gateway?.base_path ?? "/v1"}`;
}

/** A JSON request as a curl command, with the key from the environment. */
export function toCurl(url: string, body: unknown, ...more: readonly string[]): string {
  const json = quoteForShell(JSON.stringify(body, null, 2));
  return joinLines([`curl ${url}`, authorization, `-H "Content-Type: application/json"`, `-d ${json}`, ...more]);
}

/** A form upload as a curl command. */
export function toFormCurl(url: string, file: string, fields: Readonly<Record<string, string>>): string {
  const form = Object.entries(fields).map(([name, value]) => `-F ${quoteForShell(`${name}=${value}`)}`);
  return joinLines([`curl ${url}`, authorization, `-F ${quoteForShell(`file=@${file}`)}`, ...form]);
}

function joinLines(words: readonly string[]): string {
  return words.join(" \\\n  ");
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
