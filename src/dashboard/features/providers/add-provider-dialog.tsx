import { useRef } from "react";
import { api, request } from "../../data/api.ts";
import { PasswordField, SelectField, TextAreaField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { type ProviderList, refreshProviders } from "./api.ts";
import { readForm, toManifest } from "./manifest-form.ts";
import { runTest } from "./provider-dialog.tsx";

const another = "another";
const credentials = [
  ["key", "Requires a key"],
  ["none", "Works without a key"],
] as const;
const sandboxChoices = [
  ["off", "Turn it off: serve only models of real providers"],
  ["on", "Keep it on: simulate all other models"],
] as const;

/** Adds a provider from the ready list or by hand, with its first key, and tests the connection. */
export function AddProviderDialog({ list, onClose }: { list: ProviderList; onClose: () => void }) {
  const builtIn = list.data.filter(({ origin, keys }) => origin === "built in" && keys.length === 0);
  const kinds = [
    ...builtIn.map(({ name }) => [name, name] as const),
    ...list.ready.map(({ name }) => [name, name] as const),
    [another, "Another provider with OpenAI's protocol"] as const,
  ];
  const asksAboutSandbox = list.sandbox.active && list.sandbox.source !== "environment";
  // What was done before a later step failed is not done again.
  const isAdded = useRef(false);
  const initial = { kind: kinds[0]?.[0] ?? another, sandbox: "off" as "off" | "on", key: "", ...readForm(undefined) };
  const form = useForm(initial, async (values) => {
    const { kind, sandbox, key } = values;
    const ready = list.ready.find(({ name }) => name === kind);
    const name = kind === another ? values.name.trim() : kind;
    if (asksAboutSandbox) await request(api.admin.providers.sandbox.post({ setting: sandbox }));
    if ((kind === another || ready !== undefined) && !isAdded.current) {
      await request(api.admin.providers.post({ name, manifest: toManifest(values, ready?.manifest) }));
      isAdded.current = true;
    }
    if (key.trim() !== "") await request(api.admin.providers({ id: name }).keys.post({ key }));
    await refreshProviders();
    onClose();
    if (key.trim() !== "" || values.credential === "none") void runTest(name);
  });
  const { kind, key, name, base_url, models, credential } = form.values;
  const ready = list.ready.find((entry) => entry.name === kind);
  const isManifest = kind === another || ready !== undefined;
  const choose = (chosen: string) => {
    const found = list.ready.find((entry) => entry.name === chosen);
    form.set({ kind: chosen, ...readForm(found?.manifest) });
  };
  const isComplete =
    (isManifest ? base_url.trim() !== "" && models.trim() !== "" && (kind !== another || name.trim() !== "") : true) &&
    ((isManifest && credential === "none") || key.trim() !== "");
  return (
    <FormDialog
      title="Add provider"
      description="Its models can be called as soon as it is added."
      form={form}
      label="Add provider"
      busyLabel="Adding…"
      isComplete={isComplete}
      onClose={onClose}
    >
      <SelectField label="Provider" options={kinds} value={kind} onText={choose} />
      {kind === another && (
        <TextField label="Name" placeholder="my-provider" autoComplete="off" {...form.field("name")} />
      )}
      {isManifest && <ManifestFields form={form} isNew={kind === another} />}
      <PasswordField
        label={isManifest && credential === "none" ? "API key (optional)" : "API key"}
        autoComplete="off"
        {...form.field("key")}
        hint="Stored encrypted, and never shown again. More keys can be added later."
      />
      {asksAboutSandbox && (
        <SelectField
          label="Sandbox"
          options={sandboxChoices}
          value={form.values.sandbox}
          onText={(sandbox) => form.set({ sandbox })}
          hint="All answers are simulated until now."
        />
      )}
    </FormDialog>
  );
}

type FormOf = ReturnType<typeof useForm<ReturnType<typeof readForm>>>;

function ManifestFields({ form, isNew }: { form: Pick<FormOf, "field" | "set" | "values">; isNew: boolean }) {
  return (
    <>
      <TextField
        label="Base URL"
        type="url"
        placeholder="https://api.example.com/v1"
        autoComplete="off"
        {...form.field("base_url")}
      />
      {isNew && (
        <SelectField
          label="Credential"
          options={credentials}
          value={form.values.credential}
          onText={(credential) => form.set({ credential })}
        />
      )}
      <TextAreaField
        label="Models"
        rows={3}
        spellCheck={false}
        {...form.field("models")}
        hint="One per line: the name that clients use, then the provider's name if it differs. A line with * serves all models that the provider lists, at the prices below."
      />
      <div className="grid-two">
        <TextField label="USD per million input tokens" inputMode="decimal" {...form.field("input_usd")} />
        <TextField label="USD per million output tokens" inputMode="decimal" {...form.field("output_usd")} />
      </div>
      <p className="soft">With prices, calls are charged to the wallet; without, they use the free quota.</p>
      <TextAreaField
        label="Dialect options (JSON)"
        rows={3}
        spellCheck={false}
        {...form.field("manifest")}
        hint="How the provider differs from OpenAI, as in docs/providers.md. Leave empty if it does not."
      />
    </>
  );
}
