import { useState } from "react";
import { formatDay } from "../../format.ts";
import { SelectField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { toast } from "../../kit/toast.tsx";
import { BudgetsOfKey } from "../budgets/budgets-of-key.tsx";
import { changeKey, createKey, type Key, rotateKey } from "./api.ts";
import { KeyCreated } from "./key-created.tsx";
import { isComplete, type KeyDraft, KeyFields, splitNetworks, toExpiresAt, toLimits } from "./key-fields.tsx";

const newKey: KeyDraft = {
  name: "",
  expires_at: "never",
  day: "",
  budget_usd: "",
  budget_period: "month",
  allowed_models: undefined,
  allowed_networks: "",
  cache_marks: "auto",
  requests_per_minute: "",
  tokens_per_minute: "",
  concurrent_calls: "",
};

/** Creates a key, then shows its secret once. */
export function NewKeyDialog({
  account,
  onClose,
}: {
  /** The id of another account, for administrators; absent: the own one. */
  account?: string;
  onClose: () => void;
}) {
  const [created, setCreated] = useState<{ key: string; allowed: readonly string[] | undefined }>();
  const form = useForm(newKey, async (draft) => {
    const { name, expires_at, day, budget_usd, budget_period, allowed_models, cache_marks } = draft;
    const networks = splitNetworks(draft.allowed_networks);
    const limits = Object.entries(toLimits(draft)).filter(([, limit]) => limit !== null);
    const expiresAt = toExpiresAt(expires_at, day, Date.now());
    const fields = {
      name: name.trim(),
      ...(expiresAt !== null && { expires_at: expiresAt }),
      ...(budget_usd.trim() !== "" && { budget_usd: budget_usd.trim(), budget_period }),
      ...(allowed_models !== undefined && { allowed_models: [...allowed_models] }),
      ...(networks !== undefined && { allowed_networks: networks }),
      cache_marks,
      ...Object.fromEntries(limits),
    };
    const { key } = await createKey(fields, account);
    setCreated({ key, allowed: allowed_models });
  });
  if (created !== undefined) return <KeyCreated secret={created.key} allowed={created.allowed} onClose={onClose} />;
  return (
    <FormDialog
      title="Create API key"
      description="Use one key per app, so you can revoke it without affecting the others."
      form={form}
      label="Create key"
      busyLabel="Creating…"
      isComplete={isComplete(form.values)}
      onClose={onClose}
    >
      <KeyFields form={form} />
    </FormDialog>
  );
}

interface KeyDialogProps {
  /** As in {@link NewKeyDialog}. */
  account: string | undefined;
  apiKey: Key;
  onClose: () => void;
}

/** Changes the name and limits of a key, not its secret. */
export function EditKeyDialog({ account, apiKey, onClose }: KeyDialogProps) {
  const expires = apiKey.expires_at;
  const present: KeyDraft = {
    name: apiKey.name,
    expires_at: expires === null ? "never" : "keep",
    day: "",
    budget_usd: apiKey.budget_usd ?? "",
    budget_period: apiKey.budget_period ?? "month",
    allowed_models: apiKey.allowed_models ?? undefined,
    allowed_networks: apiKey.allowed_networks?.join(", ") ?? "",
    cache_marks: apiKey.cache_marks,
    requests_per_minute: String(apiKey.requests_per_minute ?? ""),
    tokens_per_minute: String(apiKey.tokens_per_minute ?? ""),
    concurrent_calls: String(apiKey.concurrent_calls ?? ""),
  };
  const form = useForm(present, async (draft) => {
    const { name, expires_at, day, budget_usd, budget_period, allowed_models, cache_marks } = draft;
    await changeKey(account, apiKey.id, {
      name: name.trim(),
      ...(expires_at !== "keep" && { expires_at: toExpiresAt(expires_at, day, Date.now()) }),
      budget_usd: budget_usd.trim() === "" ? null : budget_usd.trim(),
      budget_period,
      allowed_models: allowed_models === undefined ? null : [...allowed_models],
      allowed_networks: splitNetworks(draft.allowed_networks) ?? null,
      cache_marks,
      ...toLimits(draft),
    });
    toast(`“${name.trim()}” saved`);
    onClose();
  });
  return (
    <FormDialog
      title="Edit API key"
      description="The key itself doesn't change; apps using it keep working."
      form={form}
      isComplete={isComplete(form.values)}
      onClose={onClose}
    >
      <KeyFields form={form} {...(expires !== null && { kept: `Unchanged (${formatDay(expires)})` })} />
      {account !== undefined && <BudgetsOfKey account={account} apiKey={apiKey} />}
    </FormDialog>
  );
}

const graces = [
  ["0", "Not at all"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
] as const;

/** Gives a key another secret, then shows it once. */
export function RotateKeyDialog({ account, apiKey, onClose }: KeyDialogProps) {
  const [secret, setSecret] = useState<string>();
  const form = useForm({ grace_seconds: "3600" }, async ({ grace_seconds }) => {
    setSecret(await rotateKey(account, apiKey.id, Number(grace_seconds)));
  });
  if (secret !== undefined) {
    return (
      <KeyCreated
        title="API key rotated"
        secret={secret}
        allowed={apiKey.allowed_models ?? undefined}
        onClose={onClose}
      />
    );
  }
  return (
    <FormDialog
      title={`Rotate ${apiKey.name}`}
      description="The key gets a new secret. Its limits and usage stay."
      form={form}
      label="Rotate key"
      busyLabel="Rotating…"
      onClose={onClose}
    >
      <SelectField label="The old secret still works for" options={graces} {...form.field("grace_seconds")} />
    </FormDialog>
  );
}
