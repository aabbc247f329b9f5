import { useState } from "react";
import { fromSeconds, request } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatAge } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { Check, PasswordField } from "../../kit/field.tsx";
import { Form, Submit } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { useAction } from "../../kit/use-action.ts";
import { useModelNames } from "../models/api.ts";
import { type Provider, type ProviderKey, providerOf, refreshProviders, testProvider, testUnsaved } from "./api.ts";
import { CredentialFields, emptySecret, isSecretComplete, readSecret } from "./credential-fields.tsx";
import { describeErrors } from "./describe.tsx";
import { describeTest, HealthState } from "./health.tsx";
import { TestFailure, useTestedForm } from "./tested-form.tsx";

/** The keys of a provider by their last characters, and a field for another. */
export function KeysPart({
  provider: { name, keys, credential_form: credential, uses_stored_keys: usesStored },
  onRemove,
}: {
  provider: Provider;
  onRemove: (key: ProviderKey) => void;
}) {
  const [replaced, replace] = useState<ProviderKey>();
  const mayChange = useMayAdminister();
  const source = keys[0]?.source ?? null;
  const columns: readonly Column<ProviderKey>[] = [
    {
      name: "Key",
      className: "lead",
      cell: (key) => <KeyName keyOf={key} index={keys.indexOf(key)} credential={credential} />,
    },
    { name: "State", cell: (key) => <StateCell keyOf={key} /> },
    { name: "Calls (15 min)", className: "end", cell: ({ attempts }) => attempts?.calls ?? "–" },
    {
      name: "Errors",
      className: "end",
      cell: ({ attempts }) => (
        <span title={attempts?.last_error?.reason}>{attempts === null ? "–" : describeErrors(attempts)}</span>
      ),
    },
    actionsColumn(
      (key) =>
        key.id !== null &&
        mayChange && (
          <KeyActions
            name={name}
            keyId={key.id}
            last4={key.last4}
            onReplace={() => replace(key)}
            onRemove={() => onRemove(key)}
          />
        ),
    ),
  ];
  return (
    <Section title="API keys">
      {source !== null && (
        <div className="card-body">
          <StoredKeysSwitch name={name} source={source} usesStored={usesStored} mayChange={mayChange} />
        </div>
      )}
      {keys.length > 0 && (
        <Table rows={keys} rowKey={(key) => key.id ?? String(keys.indexOf(key))} columns={columns} sortName="keys" />
      )}
      {mayChange && (
        <div className="card-body">
          <KeyForm
            key={replaced?.id ?? "new"}
            name={name}
            credential={credential}
            isFirst={keys.length === 0}
            replaced={replaced}
            onDone={() => replace(undefined)}
          />
        </div>
      )}
    </Section>
  );
}

/** The choice between keys of the environment and stored ones. It outlives a restart. */
function StoredKeysSwitch({
  name,
  source,
  usesStored,
  mayChange,
}: {
  name: string;
  source: string;
  usesStored: boolean;
  mayChange: boolean;
}) {
  const choose = useAction(async () => {
    await request(providerOf(name).post({ uses_stored_keys: !usesStored }));
    await refreshProviders();
    toast(usesStored ? `${name} uses ${source} again` : `${name} uses stored keys from now on`);
  });
  return (
    <div className="stack stack-tight">
      <Callout tone="bad">{choose.formError()}</Callout>
      <Callout>
        The environment sets {source}.{" "}
        {usesStored
          ? "Keys that are stored here are used instead, once there is one."
          : "It is used instead of keys that are stored here."}
      </Callout>
      <Check checked={usesStored} disabled={!mayChange || choose.isBusy} onCheck={() => void choose.run()}>
        Use stored keys instead of the environment’s
      </Check>
    </div>
  );
}

function KeyName({
  keyOf,
  index,
  credential,
}: {
  keyOf: ProviderKey;
  index: number;
  credential: Provider["credential_form"];
}) {
  const { source, last4, created_by, created_by_email, created_at, method: name } = keyOf;
  const method = credential?.methods.find((one) => one.name === name);
  const plain = credential?.fields.flatMap(({ name: field, choices }) => {
    const value = keyOf.fields[field];
    return choices.find((choice) => choice.value === value)?.label ?? value ?? [];
  });
  const fields = [...(method === undefined ? [] : [method.label]), ...(plain ?? [])];
  const unnamed = fields.length === 0 ? "short key" : `Key ${index + 1}`;
  return (
    <>
      <span className="mono">{source !== null ? `Key ${index + 1}` : last4 === "" ? unnamed : `…${last4}`}</span>
      {fields.length > 0 && <span className="sub break">{fields.join(" · ")}</span>}
      {created_at !== null && (
        <span className="sub break">
          set {formatAge(fromSeconds(created_at))} by{" "}
          {created_by === "cli" ? "the command line" : (created_by_email ?? created_by)}
        </span>
      )}
    </>
  );
}

function StateCell({ keyOf }: { keyOf: ProviderKey }) {
  if (!keyOf.readable) return <Unreadable />;
  if (keyOf.in_force) return <KeyState keyOf={keyOf} />;
  return (
    <span className="badge" title="Either stored keys are used, or those of the environment">
      not active
    </span>
  );
}

function Unreadable() {
  return (
    <span className="badge is-bad" title="Encrypted with a different secrets key than this gateway’s">
      cannot be read
    </span>
  );
}

/** The state of a key, and why. */
function KeyState({ keyOf: { health } }: { keyOf: ProviderKey }) {
  const { state, reason, last_error: error, last_test: test } = health;
  if (state === null) return <span className="soft">not in use</span>;
  const isTestLast = test !== null && !test.ok && (error === null || test.at > error.at);
  const words =
    state === "refused" || state === "degraded" ? ((isTestLast ? test.error : error?.message) ?? reason) : null;
  return (
    <>
      <HealthState state={state} />
      <span className="sub break">{words}</span>
    </>
  );
}

interface KeyActionsProps {
  name: string;
  keyId: string;
  last4: string;
  onReplace: () => void;
  onRemove: () => void;
}

function KeyActions({ name, keyId, last4, onReplace, onRemove }: KeyActionsProps) {
  const nameOf = useModelNames();
  const test = useAction(async () => {
    const result = await testProvider(name, keyId);
    if (result.ok) toast(describeTest(name, result, nameOf));
  });
  return (
    <span className="row">
      <Button look="small" aria-label={`Test key ${last4}`} disabled={test.isBusy} onClick={() => void test.run()}>
        {test.isBusy ? "Testing…" : "Test"}
      </Button>
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
  isFirst: boolean;
  replaced: ProviderKey | undefined;
  onDone: () => void;
}

/** Adds a key, or the fields of a credential, or stores them in place of another. */
function KeyForm({ name, credential, isFirst, replaced, onDone }: KeyFormProps) {
  const noun = credential === null ? "key" : "credential";
  const { keys } = providerOf(name);
  const initial = { ...emptySecret, method: replaced?.method ?? "" };
  const form = useTestedForm(initial, {
    nameOf: () => name,
    test: (values) => testUnsaved({ name, ...readSecret(credential, values) }),
    save: async (values) => {
      const secret = readSecret(credential, values);
      await request(replaced?.id ? keys({ provider_key_id: replaced.id }).post(secret) : keys.post(secret));
      form.reset();
      await refreshProviders();
      toast(`${name} has a new ${noun}; it is used from now on`);
      onDone();
    },
  });
  return (
    <Form form={form} className="stack stack-tight">
      {credential === null ? (
        <PasswordField
          label={replaced === undefined ? "Add a key" : `New key instead of …${replaced.last4}`}
          autoComplete="off"
          {...form.field("key")}
          hint="Tested first. Stored encrypted, and never shown again"
        />
      ) : (
        <>
          <CredentialFields form={credential} values={form.values} onChange={form.set} errorOf={form.fieldError} />
          <p className="soft">Tested first. Secrets are stored encrypted and never shown again.</p>
        </>
      )}
      <TestFailure failure={form.failure} />
      <div className="row">
        <Submit
          form={form}
          label={
            form.failure !== undefined ? "Save anyway" : replaced === undefined ? `Add ${noun}` : `Replace ${noun}`
          }
          busyLabel="Testing…"
          look={isFirst ? "primary" : ""}
          isComplete={isSecretComplete(credential, form.values)}
        />
        {replaced !== undefined && <Button onClick={onDone}>Cancel</Button>}
      </div>
    </Form>
  );
}
