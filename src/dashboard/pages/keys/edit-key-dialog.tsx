import { useState } from "react";
import { mutate } from "swr";
import { changeKey, type Key } from "../../data/keys.ts";
import { formatDay } from "../../format.ts";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";
import { expiryOf } from "./expiries.ts";
import { isWhole, type KeyDraft, KeyFields, keyParams } from "./key-fields.tsx";

/** Changes what a key is for and how far it goes; programs that have it go on. */
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
      ...(draft.expiry !== "keep" && { expires_at: expiryOf(draft.expiry, draft.day, Date.now()) }),
      budget_usd: budget === "" ? null : budget,
      allowed_models: draft.models === undefined ? null : [...draft.models],
    });
    await mutate("keys");
    toast(`“${name}” is changed`);
    onClose();
  });
  return (
    <FormDialog
      title="Edit API key"
      about="Its secret stays: programs that have it go on."
      verbs={["Save", "Saving…"]}
      action={action}
      isWhole={isWhole(draft)}
      wrong={action.otherThan(...keyParams)}
      onClose={onClose}
    >
      <KeyFields
        draft={draft}
        onDraft={setDraft}
        wrongOf={action.wrongOf}
        {...(expires !== null && { kept: `As it is: ${formatDay(expires)}` })}
      />
    </FormDialog>
  );
}
