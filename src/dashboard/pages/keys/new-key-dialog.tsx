import { useState } from "react";
import { mutate } from "swr";
import { createKey } from "../../data/keys.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";
import { KeyCreated } from "./key-created.tsx";
import { isComplete, type KeyDraft, KeyFields, keyParams, toExpiresAt } from "./key-fields.tsx";

const empty: KeyDraft = { name: "", expiry: "never", day: "", budget: "", models: undefined };

/** Creates a key, then shows its secret once. */
export function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState(empty);
  const [created, setCreated] = useState<{ key: string; model: string | undefined }>();
  const action = useAction(async () => {
    const { name, expiry, day, budget, models } = draft;
    const expiresAt = toExpiresAt(expiry, day, Date.now());
    const { key } = await createKey({
      name: name.trim(),
      ...(expiresAt !== null && { expires_at: expiresAt }),
      ...(budget.trim() !== "" && { budget_usd: budget.trim() }),
      ...(models !== undefined && { allowed_models: [...models] }),
    });
    setCreated({ key, model: models?.[0] });
    await mutate("keys");
  });
  if (created !== undefined) return <KeyCreated secret={created.key} model={created.model} onClose={onClose} />;
  return (
    <FormDialog
      title="Create API key"
      description="Use one key per app, so you can revoke it without affecting the others."
      labels={["Create key", "Creating…"]}
      action={action}
      isComplete={isComplete(draft)}
      error={action.formError(...keyParams)}
      onClose={onClose}
    >
      <KeyFields draft={draft} onDraft={setDraft} fieldError={action.fieldError} />
    </FormDialog>
  );
}
