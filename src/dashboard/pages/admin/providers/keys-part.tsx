import { useState } from "react";
import { api, request } from "../../../data/api.ts";
import { type Provider, type ProviderKey, refreshProviders } from "../../../data/providers.ts";
import { formatAge } from "../../../format.ts";
import { Button } from "../../../ui/button.tsx";
import { Callout } from "../../../ui/feedback.tsx";
import { PasswordField } from "../../../ui/field.tsx";
import { Form, Submit, useForm } from "../../../ui/form.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { toast } from "../../../ui/toast.tsx";
import { CircuitState, describeErrors } from "./describe.tsx";

/** The keys of a provider by their last characters, and a field for another. */
export function KeysPart({
  provider: { name, keys },
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
        <KeyForm key={replaced?.id ?? "new"} {...{ name, replaced, onDone: () => replace(undefined) }} />
      )}
    </section>
  );
}

function KeyName({ keyOf: { source, last4, set_by, set_at }, index }: { keyOf: ProviderKey; index: number }) {
  return (
    <>
      <span className="mono">{source !== null ? `Key ${index + 1}` : last4 === "" ? "short key" : `…${last4}`}</span>
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
  replaced: ProviderKey | undefined;
  onDone: () => void;
}

function KeyForm({ name, replaced, onDone }: KeyFormProps) {
  const form = useForm({ key: "" }, async ({ key }) => {
    const { keys } = api.admin.providers({ id: name });
    await request(replaced?.id ? keys({ key: replaced.id }).post({ key }) : keys.post({ key }));
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
