import { useState } from "react";
import { mutate } from "swr";
import { createKey } from "../../data/keys.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";
import { expiryOf } from "./expiries.ts";
import { isWhole, type KeyDraft, KeyFields, keyParams } from "./key-fields.tsx";
import { KeyMade } from "./key-made.tsx";

const empty: KeyDraft = { name: "", expiry: "never", day: "", budget: "", models: undefined };

/** Asks what the key is for and how far it goes, makes it, and shows its secret once. */
export function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState(empty);
  const [made, setMade] = useState<{ key: string; model: string | undefined }>();
  const action = useAction(async () => {
    const { name, expiry, day, budget, models } = draft;
    const expiresAt = expiryOf(expiry, day, Date.now());
    const { key } = await createKey({
      name: name.trim(),
      ...(expiresAt !== null && { expires_at: expiresAt }),
      ...(budget.trim() !== "" && { budget_usd: budget.trim() }),
      ...(models !== undefined && { allowed_models: [...models] }),
    });
    setMade({ key, model: models?.[0] });
    await mutate("keys");
  });
  if (made !== undefined) return <KeyMade secret={made.key} model={made.model} onClose={onClose} />;
  return (
    <FormDialog
      title="New API key"
      about="Give each program a key of its own: then one can be ended alone."
      verbs={["Make key", "Making…"]}
      action={action}
      isWhole={isWhole(draft)}
      wrong={action.otherThan(...keyParams)}
      onClose={onClose}
    >
      <KeyFields draft={draft} onDraft={setDraft} wrongOf={action.wrongOf} />
    </FormDialog>
  );
}
