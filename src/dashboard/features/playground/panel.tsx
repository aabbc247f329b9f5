import { type ReactNode, useState } from "react";
import { useCalls } from "../../data/calls.ts";
import { formatCount, formatMs, formatUsd } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Code } from "../../kit/copy.tsx";
import { Callout, Empty } from "../../kit/feedback.tsx";
import { SelectField } from "../../kit/field.tsx";
import type { IconName } from "../../kit/icon.tsx";
import { useAction } from "../../kit/use-action.ts";
import { isRetired, type Model } from "../models/api.ts";
import { getLastCallId, refreshUsage } from "./playground-key.ts";

const authorization = `-H "Authorization: Bearer $MODELGATE_KEY"`;

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
  /** On a phone the settings are folded, so that the chat is in sight. */
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
        {showsCurl && <Code text={curl} label="curl command" />}
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
      {answered !== undefined && <CallFacts id={answered} />}
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
