import { useState } from "react";
import { mutate } from "swr";
import { changeKey, type Key } from "../../data/keys.ts";
import { formatDay } from "../../format.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { isComplete, type KeyDraft, KeyFields, keyParams, toExpiresAt } from "./key-fields.tsx";

/** Changes the name and limits of a key, not its secret. */
export function EditKeyDialog({ of: key, onClose }: { of: Key; onClose: () => void }) {
  const expires = key.expires_at;
  const [draft, setDraft] = useState<KeyDraft>({
    name: key.name,
    expiry: expires === null ? "never" : "keep",
    day: "",
    budget: key.budget_usd ?? "",
    models: key.allowed_models ?? undefined,
  });
  const action = useAction(async () => {
    const [name, budget] = [draft.name.trim(), draft.budget.trim()];
    await changeKey(key.id, {
      name,
      ...(draft.expiry !== "keep" && { expires_at: toExpiresAt(draft.expiry, draft.day, Date.now()) }),
      budget_usd: budget === "" ? null : budget,
      allowed_models: draft.models === undefined ? null : [...draft.models],
    });
    await mutate("keys");
    toast(`“${name}” saved`);
    onClose();
  });
  return (
    <FormDialog
      title="Edit API key"
      description="The key itself doesn't change; apps using it keep working."
      labels={["Save", "Saving…"]}
      action={action}
      isComplete={isComplete(draft)}
      error={action.formError(...keyParams)}
      onClose={onClose}
    >
      <KeyFields
        draft={draft}
        onDraft={setDraft}
        fieldError={action.fieldError}
        {...(expires !== null && { kept: `Unchanged (${formatDay(expires)})` })}
      />
    </FormDialog>
  );
}
