import { type ReactNode, useState } from "react";
import { useBaseUrl } from "../../data/api.ts";
import { useCalls } from "../../data/calls.ts";
import { formatCount, formatMs, formatUsd } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/copy.tsx";
import { Callout, Empty } from "../../kit/feedback.tsx";
import { Field, SelectField } from "../../kit/field.tsx";
import type { IconName } from "../../kit/icon.tsx";
import { useParam } from "../../kit/url-state.ts";
import { useAction } from "../../kit/use-action.ts";
import type { Model } from "../models/api.ts";
import { isRetired } from "../models/retirement.ts";
import { getLastCallId, refreshUsage } from "./playground-key.ts";

const authorization = `-H "Authorization: Bearer $MODELGATE_KEY"`;

/** The largest file of a form. */
const fileBytesMax = 25 * 1024 * 1024;

export interface PanelProps {
  readonly model: Model;
  readonly models: readonly Model[];
  readonly onModel: (id: string) => void;
}

/** Layout of a panel: settings next to the content, or above it on a phone. */
export function Panel({
  settings,
  curl,
  children,
}: {
  settings: ReactNode;
  /** The request as a curl command. */
  curl: (baseUrl: string) => string;
  children: ReactNode;
}) {
  const baseUrl = useBaseUrl();
  const [showsCurl, setShowsCurl] = useState(false);
  /** Whether the settings are open on a phone. They start closed to keep the chat in sight. */
  const [isOpen, setOpen] = useState(false);
  return (
    <div className="play">
      <section className={`card card-body stack play-settings ${isOpen ? "is-open" : ""}`} aria-label="Settings">
        <Button look="plain play-summary" icon="settings" aria-expanded={isOpen} onClick={() => setOpen(!isOpen)}>
          Model and settings
        </Button>
        {settings}
      </section>
      <div className="stack play-main">
        {children}
        <div>
          <Button icon="list" aria-expanded={showsCurl} onClick={() => setShowsCurl(!showsCurl)}>
            {showsCurl ? "Hide curl" : "Show as curl"}
          </Button>
        </div>
        {showsCurl && <Code text={curl(baseUrl)} label="curl command" />}
      </div>
    </div>
  );
}

/** The card of a panel whose call is one request: its fields, the button, and the error or result. */
export function CallCard({
  label,
  icon,
  action: [idle, busy, empty],
  isComplete,
  call,
  fields,
  children,
}: {
  label: string;
  icon: IconName;
  /** The label of the button, the label while the call runs, and the text shown without a result. */
  action: readonly [string, string, string];
  isComplete: boolean;
  call: () => Promise<void>;
  fields: ReactNode;
  /** The result, if there is one. */
  children: ReactNode;
}) {
  const [answered, setAnswered] = useState<string>();
  const { run, isBusy, formError } = useAction(async () => {
    setAnswered(undefined);
    try {
      await call();
      setAnswered(getLastCallId());
    } finally {
      refreshUsage();
    }
  });
  return (
    <section className="card card-body stack" aria-label={label}>
      {fields}
      <div className="row">
        <Button look="primary" icon={icon} disabled={isBusy || !isComplete} onClick={() => void run()}>
          {isBusy ? busy : idle}
        </Button>
      </div>
      <Callout tone="bad">{formError()}</Callout>
      {children ?? <Empty icon={icon} title={empty} />}
      {answered !== undefined && children !== undefined && <CallFacts id={answered} />}
    </section>
  );
}

/** Tokens, time and cost of a call, as the overview lists them. */
function CallFacts({ id }: { id: string }) {
  const { data: calls } = useCalls();
  const call = calls?.data.find((each) => each.id === id);
  if (call === undefined) return null;
  const cost = call.premium
    ? call.charged_usd !== null && `${formatUsd(call.charged_usd)} charged`
    : call.quota_tokens !== null && `${formatCount(call.quota_tokens)} tokens of the free quota`;
  return (
    <p className="turn-end">{[cost, `total ${formatMs(call.duration_ms)}`, call.plugin].filter(Boolean).join(" · ")}</p>
  );
}

export function ModelField({ model, models, onModel }: PanelProps) {
  return (
    <SelectField
      label="Model"
      hint={model.premium ? "Billing: wallet" : "Billing: free quota"}
      options={models.map(toOption)}
      value={model.id}
      onText={onModel}
    />
  );
}

/** Below its maker; those that have ended say so. */
function toOption(model: Model): readonly [string, string, string] {
  const maker = model.members === null ? model.ownedBy : "Virtual models";
  return [model.id, isRetired(model) ? `${model.id} (retired)` : model.id, maker];
}

/**
 * The second task of a panel, such as translation, which only some of its models do: whether it is chosen, and the
 * panel with these models alone while it is.
 */
export function useSecondTask(props: PanelProps, task: string, canDo: (model: Model) => boolean) {
  const [chosen, choose] = useParam("task");
  const able = props.models.filter(canDo);
  const model = able.find(({ id }) => id === props.model.id) ?? able[0];
  const panel = chosen === task && model !== undefined ? { ...props, model, models: able } : undefined;
  return { panel: panel ?? props, isChosen: panel !== undefined, isOffered: model !== undefined, choose, task };
}

/** Chooses between the tasks of a panel; nothing where no model does the second. `onChoose` clears what the former left. */
export function TaskField({
  second: { isOffered, isChosen, choose, task },
  labels,
  onChoose,
}: {
  second: ReturnType<typeof useSecondTask>;
  /** The first task has the first label. */
  labels: readonly [string, string];
  onChoose: () => void;
}) {
  if (!isOffered) return null;
  return (
    <SelectField
      label="Task"
      options={[
        ["", labels[0]],
        [task, labels[1]],
      ]}
      value={isChosen ? task : ""}
      onText={(next) => {
        onChoose();
        choose(next);
      }}
    />
  );
}

/** Chooses a file of the user's computer, by the endings of its name. */
export function FileField({
  endings,
  onFile,
  ...field
}: {
  label: string;
  hint: string;
  error: string | undefined;
  endings: readonly string[];
  onFile: (file: File | undefined) => void;
}) {
  return (
    <Field {...field}>
      {(control) => (
        <input
          {...control}
          className="input"
          type="file"
          accept={endings.join(",")}
          onChange={(event) => onFile(event.target.files?.[0])}
        />
      )}
    </Field>
  );
}

/** Why a file cannot be sent: a type that is not supported, or more than 25 MB. It is checked before it is uploaded. */
export function findFileError(file: File | undefined, kind: string, endings: readonly string[]): string | undefined {
  if (file === undefined) return undefined;
  const { name, size } = file;
  if (!endings.some((ending) => name.toLowerCase().endsWith(ending))) {
    return `${name} is not a supported ${kind} file. Supported: ${endings.join(", ")}`;
  }
  return size > fileBytesMax ? `${name} is ${(size / 1024 / 1024).toFixed(1)} MB; the limit is 25 MB` : undefined;
}

/** A form for an upload. */
export function toForm(file: readonly [name: string, value: File], fields: Readonly<Record<string, string>>): FormData {
  const form = new FormData();
  form.set(...file);
  for (const [name, value] of Object.entries(fields)) form.set(name, value);
  return form;
}

/** A JSON request as a curl command, with the key from the environment. */
export function toCurl(url: string, body: unknown, ...more: readonly string[]): string {
  const json = quoteForShell(JSON.stringify(body, null, 2));
  return joinLines([`curl ${url}`, authorization, `-H "Content-Type: application/json"`, `-d ${json}`, ...more]);
}

/** A form upload as a curl command. */
export function toFormCurl(
  url: string,
  /** Name of the form's field with the file, and name of the file. */
  [fileField, fileName]: readonly [string, string],
  fields: Readonly<Record<string, string>>,
): string {
  const form = Object.entries(fields).map(([name, value]) => `-F ${quoteForShell(`${name}=${value}`)}`);
  return joinLines([`curl ${url}`, authorization, `-F ${quoteForShell(`${fileField}=@${fileName}`)}`, ...form]);
}

/** The lines of a text that are not blank. */
export function toLines(text: string): string[] {
  return text
    .split("\n")
    .map((line) => line.trim())
    .filter((line) => line !== "");
}

function joinLines(words: readonly string[]): string {
  return words.join(" \\\n  ");
}

function quoteForShell(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
