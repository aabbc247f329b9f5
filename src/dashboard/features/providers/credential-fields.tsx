import { PasswordField, SelectField, TextAreaField, TextField } from "../../kit/field.tsx";
import type { Provider } from "./api.ts";

/** The declared fields of a credential and the ways to sign in; `null` for a single key. */
type CredentialForm = Provider["credential_form"];
type Field = NonNullable<CredentialForm>["fields"][number];

/** A key or a credential with fields, as a form edits it. */
export interface SecretValues {
  key: string;
  /** The way to sign in; empty: the first. */
  method: string;
  /** Also of other ways than the chosen one: what was entered is there again if it is chosen. */
  fields: Record<string, string>;
}

export const emptySecret: SecretValues = { key: "", method: "", fields: {} };

function readMethod(form: NonNullable<CredentialForm>, { method }: Pick<SecretValues, "method">) {
  const chosen = form.methods.find(({ name }) => name === method) ?? form.methods[0];
  const names = [...(chosen?.fields ?? []), ...(chosen?.optional ?? [])];
  return { chosen, fields: form.fields.filter(({ name }) => names.includes(name)) };
}

function readValue({ name, choices }: Field, { fields }: SecretValues): string {
  return fields[name]?.trim() || (choices[0]?.value ?? "");
}

/** The secret as the API takes it, with the fields of the chosen way alone; empty when nothing is entered. */
export function readSecret(form: CredentialForm, values: SecretValues): { key?: string; fields?: object } {
  const key = values.key.trim();
  if (form === null) return key === "" ? {} : { key };
  const entries = readMethod(form, values).fields.map((field) => [field.name, readValue(field, values)] as const);
  return { fields: Object.fromEntries(entries.filter(([, value]) => value !== "")) };
}

/** Whether each field that is needed is filled in. */
export function isSecretComplete(form: CredentialForm, values: SecretValues): boolean {
  if (form === null) return values.key.trim() !== "";
  const { chosen, fields } = readMethod(form, values);
  return fields.every((field) => chosen?.fields.includes(field.name) !== true || readValue(field, values) !== "");
}

/** The choice of the way to sign in, if there are several, and its fields. */
export function CredentialFields({
  form,
  values,
  onChange,
  errorOf,
}: {
  form: NonNullable<CredentialForm>;
  values: SecretValues;
  onChange: (change: Partial<SecretValues>) => void;
  errorOf: (field: string) => string | undefined;
}) {
  const { chosen, fields } = readMethod(form, values);
  return (
    <>
      {form.methods.length > 1 && (
        <SelectField
          label="Sign in with"
          options={form.methods.map(({ name, label }) => [name, label] as const)}
          value={chosen?.name ?? ""}
          onText={(method) => onChange({ method })}
          hint={chosen?.hint ?? undefined}
        />
      )}
      {fields
        .filter(({ choices }) => choices.length !== 1)
        .map((field) => (
          <CredentialField
            key={field.name}
            field={field}
            value={field.choices.length > 0 ? readValue(field, values) : (values.fields[field.name] ?? "")}
            onText={(text) => onChange({ fields: { ...values.fields, [field.name]: text } })}
            error={errorOf(field.name)}
          />
        ))}
    </>
  );
}

interface CredentialFieldProps {
  field: Field;
  value: string;
  onText: (text: string) => void;
  error: string | undefined;
}

function CredentialField({ field, ...control }: CredentialFieldProps) {
  const { label, secret, example, choices, is_file: isFile } = field;
  const shared = { label, hint: field.hint ?? undefined, ...control };
  if (choices.length > 0) {
    return <SelectField options={choices.map((choice) => [choice.value, choice.label] as const)} {...shared} />;
  }
  if (isFile) return <TextAreaField rows={4} spellCheck={false} autoComplete="off" {...shared} />;
  if (secret) return <PasswordField autoComplete="off" {...shared} />;
  return <TextField placeholder={example} autoComplete="off" {...shared} />;
}
