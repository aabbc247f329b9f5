import { organization, request } from "../../data/api.ts";
import { PasswordField, SelectField, TextAreaField, TextField } from "../../kit/field.tsx";
import { UsdField } from "../../kit/figures.tsx";
import { FormDialog, type useForm } from "../../kit/form.tsx";
import { type ProviderList, providerOf, refreshProviders, testUnsaved } from "./api.ts";
import { CredentialFields, emptySecret, isSecretComplete, readSecret } from "./credential-fields.tsx";
import { readForm, toManifest } from "./manifest-form.ts";
import { TestFailure, useTestedForm } from "./tested-form.tsx";

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
    ...list.plugins.manifests.map(({ name }) => [name, name] as const),
    [another, "Another provider with OpenAI's protocol"] as const,
  ];
  const asksAboutSandbox = list.sandbox.active && list.sandbox.source !== "environment";
  const initial = {
    kind: kinds[0]?.[0] ?? another,
    sandbox: "off" as "off" | "on",
    ...emptySecret,
    ...readForm(undefined),
  };
  const formOf = (kind: string) => builtIn.find((entry) => entry.name === kind)?.credential_form ?? null;
  /** The values as the form means them: the provider, its manifest if it is new, and its key. */
  const read = (values: typeof initial) => {
    const manifestOfReady = list.plugins.manifests.find((entry) => entry.name === values.kind)?.manifest;
    const isNew = values.kind === another || manifestOfReady !== undefined;
    return {
      name: values.kind === another ? values.name.trim() : values.kind,
      ...(isNew && { manifest: toManifest(values, manifestOfReady) }),
      ...readSecret(formOf(values.kind), values),
    };
  };
  const form = useTestedForm(initial, {
    nameOf: (values) => read(values).name,
    test: (values) => testUnsaved(read(values)),
    save: async (values) => {
      const { name, manifest, ...secret } = read(values);
      if (asksAboutSandbox) await request(organization.sandbox.post({ setting: values.sandbox }));
      if (manifest === undefined) await request(providerOf(name).keys.post(secret));
      else await request(organization.providers.post({ name, manifest, ...secret }));
      await refreshProviders();
      onClose();
    },
  });
  const { kind, name, base_url, models, credential } = form.values;
  const ready = list.plugins.manifests.find((entry) => entry.name === kind);
  const isManifest = kind === another || ready !== undefined;
  const choose = (chosen: string) => {
    const manifest = list.plugins.manifests.find((entry) => entry.name === chosen);
    form.set({ kind: chosen, ...emptySecret, ...readForm(manifest?.manifest) });
  };
  const isComplete =
    (isManifest ? base_url.trim() !== "" && models.trim() !== "" && (kind !== another || name.trim() !== "") : true) &&
    ((isManifest && credential === "none") || isSecretComplete(formOf(kind), form.values));
  const credentialForm = formOf(kind);
  return (
    <FormDialog
      title="Add provider"
      description="The provider is tested with one call before it is saved. Its models can then be called at once."
      form={form}
      label={form.failure === undefined ? "Add provider" : "Save anyway"}
      busyLabel="Testing…"
      isComplete={isComplete}
      onClose={onClose}
    >
      <SelectField label="Provider" options={kinds} value={kind} onText={choose} />
      {kind === another && (
        <TextField label="Name" placeholder="my-provider" autoComplete="off" {...form.field("name")} />
      )}
      {isManifest && <ManifestFields form={form} isNew={kind === another} />}
      {credentialForm !== null && (
        <>
          <CredentialFields form={credentialForm} values={form.values} onChange={form.set} errorOf={form.fieldError} />
          <p className="soft">Secrets are stored encrypted, and never shown again.</p>
        </>
      )}
      {credentialForm === null && (
        <PasswordField
          label={isManifest && credential === "none" ? "API key (optional)" : "API key"}
          autoComplete="off"
          {...form.field("key")}
          hint="Stored encrypted, and never shown again. More keys can be added later."
        />
      )}
      {asksAboutSandbox && (
        <SelectField
          label="Sandbox"
          options={sandboxChoices}
          value={form.values.sandbox}
          onText={(sandbox) => form.set({ sandbox })}
          hint="All answers have been simulated so far."
        />
      )}
      <TestFailure failure={form.failure} />
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
        <UsdField label="USD per million input tokens" {...form.field("input_usd")} />
        <UsdField label="USD per million output tokens" {...form.field("output_usd")} />
      </div>
      <p className="soft">With prices, calls are charged to the wallet; without, they use the free quota.</p>
      <TextAreaField
        label="Dialect options (JSON)"
        rows={3}
        spellCheck={false}
        {...form.field("manifest")}
        hint="How the provider differs from OpenAI, as in docs/plugins.md. Leave empty if it does not."
      />
    </>
  );
}
