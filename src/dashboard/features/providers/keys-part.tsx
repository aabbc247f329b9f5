import { useState } from "react";
import { api, request } from "../../data/api.ts";
import { formatAge } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { PasswordField, TextAreaField, TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { type Provider, type ProviderKey, refreshProviders } from "./api.ts";
import { CircuitState, describeErrors } from "./describe.tsx";

/** The keys of a provider by their last characters, and a field for another. */
export function KeysPart({
  provider: { name, keys, credential_form: credential },
  onRemove,
}: {
  provider: Provider;
  onRemove: (key: ProviderKey) => void;
}) {
  const [replaced, replace] = useState<ProviderKey>();
  const source = keys[0]?.source ?? null;
  const columns: readonly Column<ProviderKey>[] = [
    { name: "Key", className: "lead", cell: (key) => <KeyName keyOf={key} index={keys.indexOf(key)} /> },
    { name: "State", cell: ({ state, readable }) => (readable ? <CircuitState state={state} /> : <Unreadable />) },
    { name: "Calls (15 min)", className: "end", cell: ({ attempts }) => attempts?.calls ?? "–" },
    {
      name: "Errors",
      className: "end",
      cell: ({ attempts }) => (
        <span title={attempts?.last_error?.reason}>{attempts === null ? "–" : describeErrors(attempts)}</span>
      ),
    },
    {
      name: "Actions",
      className: "tight actions",
      isUnnamed: true,
      cell: (key) =>
        key.id !== null && (
          <KeyActions last4={key.last4} onReplace={() => replace(key)} onRemove={() => onRemove(key)} />
        ),
    },
  ];
  return (
    <section className="stack stack-tight" aria-label="API keys">
      <h3>API keys</h3>
      {source !== null && (
        <Callout>The environment sets {source}. It is used instead of keys that are stored here.</Callout>
      )}
      {keys.length > 0 && <Table rows={keys} rowKey={({ id }) => id ?? crypto.randomUUID()} columns={columns} />}
      {source === null && (
        <KeyForm key={replaced?.id ?? "new"} {...{ name, credential, replaced, onDone: () => replace(undefined) }} />
      )}
    </section>
  );
}

function KeyName({ keyOf, index }: { keyOf: ProviderKey; index: number }) {
  const { source, last4, set_by, set_at } = keyOf;
  const fields = Object.values(keyOf.fields);
  const unnamed = fields.length === 0 ? "short key" : `Key ${index + 1}`;
  return (
    <>
      <span className="mono">{source !== null ? `Key ${index + 1}` : last4 === "" ? unnamed : `…${last4}`}</span>
      {fields.length > 0 && <span className="sub break">{fields.join(" · ")}</span>}
      {set_at !== null && (
        <span className="sub break">
          set {formatAge(set_at)} by {set_by === "cli" ? "the command line" : set_by}
        </span>
      )}
    </>
  );
}

function Unreadable() {
  return (
    <span className="badge is-bad" title="Encrypted with another secrets key than this gateway has">
      cannot be read
    </span>
  );
}

interface KeyActionsProps {
  last4: string;
  onReplace: () => void;
  onRemove: () => void;
}

function KeyActions({ last4, onReplace, onRemove }: KeyActionsProps) {
  return (
    <span className="row">
      <Button look="small" aria-label={`Replace key ${last4}`} onClick={onReplace}>
        Replace
      </Button>
      <Button look="small" aria-label={`Remove key ${last4}`} onClick={onRemove}>
        Remove
      </Button>
    </span>
  );
}

interface KeyFormProps {
  name: string;
  /** The fields of a credential that is more than one key. */
  credential: Provider["credential_form"];
  replaced: ProviderKey | undefined;
  onDone: () => void;
}

function KeyForm(props: KeyFormProps) {
  return props.credential === null ? (
    <OneKeyForm {...props} />
  ) : (
    <FieldsForm {...props} credential={props.credential} />
  );
}

/** Stores a key, or the fields of a credential, anew or in place of another. */
async function save(name: string, replaced: ProviderKey | undefined, secret: { key: string } | { fields: object }) {
  const { keys } = api.admin.providers({ id: name });
  await request(replaced?.id ? keys({ key: replaced.id }).post(secret) : keys.post(secret));
}

/** The fields of a credential. Which of them belong together, the gateway says. */
function FieldsForm({
  name,
  credential: { fields },
  replaced,
  onDone,
}: KeyFormProps & { credential: NonNullable<KeyFormProps["credential"]> }) {
  const form = useForm(Object.fromEntries(fields.map((field) => [field.name, ""])), async (values) => {
    const given = Object.entries(values).filter(([, value]) => value.trim() !== "");
    await save(name, replaced, { fields: Object.fromEntries(given) });
    form.reset();
    await refreshProviders();
    toast(`${name} has a new credential; it is used from now on`);
    onDone();
  });
  return (
    <Form form={form} className="stack stack-tight">
      <p className="hint">
        Fill in those that belong together. What is secret is stored encrypted, and never shown again.
      </p>
      {fields.map(({ name: field, label, secret, example, is_file: isFile }) => {
        const shared = { label, autoComplete: "off", ...form.field(field) };
        if (isFile) return <TextAreaField key={field} rows={4} spellCheck={false} {...shared} />;
        if (secret) return <PasswordField key={field} {...shared} />;
        return <TextField key={field} placeholder={example} {...shared} />;
      })}
      <div className="row">
        <Submit
          form={form}
          label={replaced === undefined ? "Add credential" : "Replace credential"}
          look=""
          isComplete={Object.values(form.values).some((value) => value.trim() !== "")}
        />
        {replaced !== undefined && <Button onClick={onDone}>Cancel</Button>}
      </div>
    </Form>
  );
}

function OneKeyForm({ name, replaced, onDone }: KeyFormProps) {
  const form = useForm({ key: "" }, async ({ key }) => {
    await save(name, replaced, { key });
    form.reset();
    await refreshProviders();
    toast(`${name} has a new key; it is used from now on`);
    onDone();
  });
  return (
    <Form form={form} className="stack stack-tight">
      <PasswordField
        label={replaced === undefined ? "Add a key" : `New key instead of …${replaced.last4}`}
        autoComplete="off"
        {...form.field("key")}
        hint="Stored encrypted, and never shown again"
      />
      <div className="row">
        <Submit
          form={form}
          label={replaced === undefined ? "Add key" : "Replace key"}
          look=""
          isComplete={form.values.key.trim() !== ""}
        />
        {replaced !== undefined && <Button onClick={onDone}>Cancel</Button>}
      </div>
    </Form>
  );
}
