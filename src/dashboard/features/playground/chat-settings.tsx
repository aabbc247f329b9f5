import { Button } from "../../kit/button.tsx";
import { SelectField, TextAreaField, TextField } from "../../kit/field.tsx";
import { type ChatFields, readJson } from "./chat-request.ts";
import { ModelField, type PanelProps } from "./panel.tsx";

export type Settings = Omit<ChatFields, "model">;

export const noSettings: Settings = {
  system: "",
  temperature: "",
  top_p: "",
  max_tokens: "",
  tools: "",
  format: "text",
  schema: "",
};

const formats = [
  ["text", "Text"],
  ["json_object", "JSON object"],
  ["json_schema", "JSON schema"],
] as const;

/** Mistakes in the tools or the schema, by field. */
export function findMistakes({ tools, format, schema }: Settings): { tools?: string; schema?: string } {
  const list = tools.trim() === "" ? { value: [] } : readJson(tools);
  const object = format === "json_schema" ? readJson(schema) : { value: {} };
  const isObject = typeof object.value === "object" && object.value !== null && !Array.isArray(object.value);
  return {
    ...(!Array.isArray(list.value) && { tools: list.error ?? "Expected a JSON array of tools" }),
    ...(!isObject && { schema: object.error ?? "Expected a JSON schema object" }),
  };
}

export function ChatSettings({
  panel,
  settings,
  onChange,
  compared,
  onCompare,
  canClear,
  onClear,
}: {
  panel: PanelProps;
  settings: Settings;
  onChange: (settings: Settings) => void;
  /** The model that is compared; empty: none. */
  compared: string;
  onCompare: (model: string) => void;
  canClear: boolean;
  onClear: () => void;
}) {
  const field = (name: Exclude<keyof Settings, "format">) => ({
    value: settings[name],
    onText: (text: string) => onChange({ ...settings, [name]: text }),
  });
  return (
    <>
      <ModelField {...panel} />
      <SelectField
        label="Compare with"
        options={[["", "No other model"], ...panel.models.map(({ id }) => [id, id] as const)]}
        value={compared}
        onText={onCompare}
      />
      <TextAreaField label="System message" rows={3} placeholder="How the model should behave" {...field("system")} />
      <details className="more">
        <summary>More settings</summary>
        <div className="stack">
          <Sampling field={field} />
          <Structure settings={settings} onChange={onChange} field={field} />
        </div>
      </details>
      <Button icon="trash" disabled={!canClear} onClick={onClear}>
        Clear chat
      </Button>
    </>
  );
}

type FieldOf = (name: Exclude<keyof Settings, "format">) => { value: string; onText: (text: string) => void };

function Sampling({ field }: { field: FieldOf }) {
  return (
    <>
      <TextField
        label="Temperature"
        type="number"
        min={0}
        max={2}
        step={0.1}
        placeholder="Default (0.7)"
        {...field("temperature")}
      />
      <TextField label="Top P" type="number" min={0} max={1} step={0.05} placeholder="Default" {...field("top_p")} />
      <TextField
        label="Max output tokens"
        type="number"
        min={1}
        step={1}
        placeholder="No limit"
        {...field("max_tokens")}
      />
    </>
  );
}

function Structure({
  settings,
  onChange,
  field,
}: {
  settings: Settings;
  onChange: (settings: Settings) => void;
  field: FieldOf;
}) {
  const mistakes = findMistakes(settings);
  return (
    <>
      <SelectField
        label="Response format"
        options={formats}
        value={settings.format}
        onText={(format) => onChange({ ...settings, format })}
      />
      {settings.format === "json_schema" && (
        <TextAreaField
          label="JSON schema"
          rows={5}
          spellCheck={false}
          placeholder='{"type": "object", "properties": {"answer": {"type": "string"}}}'
          error={mistakes.schema}
          {...field("schema")}
        />
      )}
      <TextAreaField
        label="Tools"
        rows={5}
        spellCheck={false}
        hint="A JSON array of functions. When the model calls one, write its result as the next message."
        placeholder='[{"type": "function", "function": {"name": "get_time", "parameters": {"type": "object"}}}]'
        error={mistakes.tools}
        {...field("tools")}
      />
    </>
  );
}
