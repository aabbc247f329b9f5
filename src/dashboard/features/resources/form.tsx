/** Forms that are made from the fields of a declaration. */
import { type ReactNode, useState } from "react";
import { useAccountKeys } from "../../data/admin.ts";
import { Code } from "../../kit/copy.tsx";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { LoadError } from "../../kit/feedback.tsx";
import { Check, SelectField, TextField } from "../../kit/field.tsx";
import { isFigure } from "../../kit/figures.tsx";
import { FormDialog } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";
import { getKeyState, maskKey } from "../keys/api.ts";
import { useModels } from "../models/api.ts";
import { type Entry, type Field, type Owner, type Resource, saveEntry, useResources } from "./api.ts";

/** A thing that is changed: it has its fields, by their names. */
interface Changed {
  readonly id: string;
}

function readField(thing: Changed | undefined, name: string): unknown {
  return (thing as Entry | undefined)?.[name];
}

/** The values of a form, by the names of fields. */
export type Texts = Readonly<Record<string, string>>;
type Choice = readonly [value: string, label: string, group?: string];

/** A field as a form shows it: what is declared, and what only its page knows. */
export interface ShownField extends Omit<Field, "choices"> {
  readonly choices: readonly Choice[];
  /** Choices that cannot be made; the hint says why. */
  readonly refused?: readonly string[] | undefined;
  /** The id of a `datalist` for a text. */
  readonly list?: string;
  /** Rendered before the field. */
  readonly before?: ReactNode;
}

/** Changes how a field is shown, by the values that the form has so far; `false`: the field is not shown. */
export type Adjust = (field: Field, texts: Texts) => false | Partial<ShownField>;

/** A choice that only a form has. */
export const formOnly: Omit<Field, "name" | "label"> = {
  kind: "choice",
  hint: null,
  empty: null,
  choices: [],
  from: null,
  when: {},
  initial: "",
  isRequired: true,
  isNullable: false,
  isNumber: false,
  isHalf: false,
  changes: false,
  lengthMax: 0,
  least: 0,
};

const isUnchanged: Adjust = () => ({});

/** The models and the keys of an account, with their names. */
export function useSources(account: Owner) {
  const { data: models } = useModels();
  const { data: keys } = useAccountKeys(account);
  const all = {
    models: (models?.data ?? []).map(({ id, name }) => ({ id, name, isUsable: true })),
    keys: (keys?.data ?? []).map((key) => ({ id: key.id, name: key.name, isUsable: getKeyState(key) === "active" })),
  };
  return {
    choicesOf: (source: keyof typeof all) =>
      all[source].filter(({ isUsable }) => isUsable).map(({ id, name }) => [id, name] as const),
    nameOf: (source: keyof typeof all, id: string) =>
      all[source].find((one) => one.id === id)?.name ?? (source === "keys" ? maskKey(id) : id),
  };
}

/** The state of a form of fields. `act` gets the body of the request. */
export function useFields({
  fields,
  entry,
  account,
  initial = {},
  adjust = isUnchanged,
  act,
}: {
  fields: readonly Field[];
  /** The entry that is changed; absent: a new one is made. */
  entry?: Changed | undefined;
  account?: Owner;
  /** The first values of a form, where a declaration or the entry does not have them. */
  initial?: Texts;
  adjust?: Adjust | undefined;
  act: (body: Record<string, unknown>, texts: Texts) => Promise<unknown>;
}) {
  const [entered, setEntered] = useState<Texts>(() =>
    Object.fromEntries(fields.map((field) => [field.name, initial[field.name] ?? toText(field, entry)])),
  );
  const { choicesOf } = useSources(account);
  const texts: Record<string, string> = { ...entered };
  const shown: ShownField[] = [];
  for (const field of fields) {
    const { name, when, from, changes } = field;
    const isMeant = Object.entries(when).every(([other, values]) => values.includes(texts[other] ?? ""));
    const isHere = (from !== "keys" || account !== undefined) && (entry === undefined || changes);
    const adjusted = isMeant && isHere && adjust(field, texts);
    if (adjusted === false) continue;
    const one = { ...field, ...(from !== null && { choices: choicesOf(from) }), ...adjusted, name };
    texts[name] = toPossible(one, texts[name] ?? "");
    shown.push(one);
  }
  const toBody = () =>
    Object.fromEntries(
      shown.flatMap((field) => {
        const value = toValue(field, texts[field.name] ?? "", entry);
        return value === undefined ? [] : [[field.name, value]];
      }),
    );
  const { submit, isBusy, fieldError, formError } = useAction(() => act(toBody(), texts));
  return {
    submit,
    isBusy,
    /** The values that the fields show: a choice that cannot be made any more is replaced. */
    texts: texts as Texts,
    shown,
    set: (change: Texts) => setEntered({ ...texts, ...change }),
    fieldError,
    /** The error that is about none of the fields. */
    error: formError(...shown.map(({ name }) => name)),
    isComplete: shown.every((field) => isFilled(field, texts[field.name] ?? "")),
  };
}

/** The choice, or the first of those that can be made. */
function toPossible({ kind, choices, refused = [], initial, ...field }: ShownField, text: string): string {
  const possible = choices.flatMap(([choice]) => (refused.includes(choice) ? [] : [choice]));
  if (kind !== "choice" || possible.includes(text) || (text === "" && hasNone(field))) return text;
  if (possible.includes(initial)) return initial;
  return hasNone(field) ? "" : (possible[0] ?? text);
}

/** Whether nothing can be chosen, or not yet. */
function hasNone({ empty, isRequired, from }: Pick<ShownField, "empty" | "isRequired" | "from">): boolean {
  return empty !== null || from !== null || !isRequired;
}

function isFilled({ kind, isRequired, least, choices }: ShownField, text: string): boolean {
  if (text.trim() === "") return !isRequired || kind === "check" || choices.some(([choice]) => choice === "");
  return kind !== "figure" || isFigure(text, least === 0 ? 0 : 1);
}

function toText({ name, kind, initial }: Pick<Field, "name" | "kind" | "initial">, entry: Changed | undefined): string {
  if (entry === undefined) return initial;
  const value = readField(entry, name);
  if (value === undefined || value === null || value === false) return "";
  return kind === "day" ? new Date(Number(value) * 1000).toISOString().slice(0, 10) : String(value);
}

/** The value of a field in the body of a request; absent: it is left out. */
function toValue(field: ShownField, text: string, entry: Changed | undefined): unknown {
  const { name, kind, isNullable, isNumber, choices } = field;
  const trimmed = text.trim();
  if (kind === "check") {
    const [only] = choices;
    if (only === undefined) return trimmed !== "";
    return trimmed === "" ? null : only[0];
  }
  if (trimmed === "") {
    if (isNullable) return null;
    return entry === undefined || isNumber ? undefined : "";
  }
  if (kind === "day") {
    // Inclusive: until the end of that day, or the moment that it has already.
    return text === toText(field, entry) ? readField(entry, name) : Math.floor(Date.parse(`${text}T23:59:59Z`) / 1000);
  }
  return isNumber ? Number(trimmed) : trimmed;
}

type FieldsState = ReturnType<typeof useFields>;

/** The fields of a form, two on a line where they are short. */
export function Fields({ form, none }: { form: FieldsState; none?: string | undefined }) {
  return (
    <div className="split fields">
      {form.shown.map((field) => (
        <div key={field.name} className={field.isHalf ? undefined : "is-wide"}>
          {field.before}
          <FieldOf field={field} form={form} none={none} />
        </div>
      ))}
    </div>
  );
}

function FieldOf({ field, form, none }: { field: ShownField; form: FieldsState; none?: string | undefined }) {
  const { name, kind, label, hint, empty, choices, refused, list, lengthMax } = field;
  const value = form.texts[name] ?? "";
  const onText = (text: string) => form.set({ [name]: text });
  const about = { label, hint: hint ?? undefined, error: form.fieldError(name), value, onText };
  if (kind === "check") {
    return (
      <Check checked={value !== ""} onCheck={(isChecked) => onText(isChecked ? (choices[0]?.[0] ?? "yes") : "")}>
        {label}
      </Check>
    );
  }
  if (kind === "choice") {
    const first: readonly Choice[] = hasNone(field) ? [["", empty ?? "Choose…"]] : [];
    return <SelectField {...about} options={[...first, ...choices]} refused={refused} />;
  }
  const placeholder = empty ?? (kind === "figure" ? none : undefined);
  const more = { autoComplete: "off", maxLength: lengthMax, placeholder, list };
  if (kind === "day") return <TextField type="date" {...about} />;
  if (kind === "text") return <TextField {...more} {...about} />;
  return <TextField inputMode={kind === "figure" ? "numeric" : "decimal"} {...more} {...about} />;
}

interface DialogProps {
  title: string;
  description?: ReactNode;
  /** The account of the thing; absent: the gateway. */
  account?: Owner | ((texts: Texts) => Owner);
  entry?: Changed | undefined;
  initial?: Texts;
  adjust?: Adjust;
  /** The fields with those that only the form has. `toBody` takes these out. */
  withFields?: (declared: readonly Field[]) => readonly Field[];
  toBody?: (body: Record<string, unknown>, texts: Texts) => object;
  /** The meaning of an absent figure: "No limit". */
  none?: string;
  label?: string;
  busyLabel?: string;
  /** Said when it is saved. */
  saved?: string | ((texts: Texts) => string);
  /** Whether the form can be sent, as far as its fields do not say so. */
  isSendable?: (texts: Texts) => boolean;
  onSaved?: () => unknown;
  onClose: () => void;
  /** Below the fields. */
  children?: (texts: Texts) => ReactNode;
}

/** A dialog that creates a thing or changes it. Renders nothing until it is read what the thing is made of. */
export function ResourceDialog({ name, ...props }: DialogProps & { name: string }) {
  const state = useResources();
  const resource = state.data?.data.find((one) => one.name === name);
  if (resource !== undefined) return <LoadedDialog resource={resource} {...props} />;
  if (state.error === undefined) return null;
  return (
    <Dialog title={props.title} onClose={props.onClose}>
      <LoadError error={state.error} onRetry={state.mutate} />
    </Dialog>
  );
}

function LoadedDialog({
  resource,
  account,
  entry,
  initial = {},
  adjust,
  withFields = (declared) => declared,
  toBody = (body) => body,
  none,
  saved,
  isSendable = () => true,
  onSaved = () => undefined,
  children,
  ...dialog
}: DialogProps & { resource: Resource }) {
  const [secret, setSecret] = useState<string>();
  const form = useFields({
    fields: withFields(resource.fields),
    account: typeof account === "function" ? undefined : account,
    entry,
    initial,
    adjust,
    act: async (body, texts) => {
      const owner = typeof account === "function" ? account(texts) : account;
      const made = await saveEntry(resource, owner, toBody(body, texts), entry?.id);
      await onSaved();
      if (saved !== undefined) toast(typeof saved === "string" ? saved : saved(texts));
      const created = resource.secret === null || entry !== undefined ? undefined : made[resource.secret];
      if (typeof created === "string") setSecret(created);
      else dialog.onClose();
    },
  });
  if (secret !== undefined) {
    return (
      <Dialog
        title={`${capitalize(resource.name)} created`}
        description={`Copy the ${resource.secret} now. It will not be shown again.`}
        isPersistent
        onClose={dialog.onClose}
      >
        <DialogContent label="I've saved it" onClose={dialog.onClose}>
          <Code text={secret} label={resource.secret ?? ""} />
        </DialogContent>
      </Dialog>
    );
  }
  return (
    <FormDialog {...dialog} form={form} isComplete={form.isComplete && isSendable(form.texts)}>
      <Fields form={form} none={none} />
      {children?.(form.texts)}
    </FormDialog>
  );
}

export function capitalize(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}
