import { type FormEvent, useState } from "react";
import { mutate } from "swr";
import { changeKey, type Key } from "../../data/keys.ts";
import { formatDay } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { Dialog } from "../../ui/dialog.tsx";
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
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
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
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan(...keyParams);
  return (
    <Dialog title="Edit API key" about="Its secret stays: programs that have it go on." onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <div className="dialog-body">
          {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
          <KeyFields
            draft={draft}
            onDraft={setDraft}
            wrongOf={wrongOf}
            {...(expires !== null && { kept: `As it is: ${formatDay(expires)}` })}
          />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary" disabled={isBusy || !isWhole(draft)}>
            {isBusy ? "Saving…" : "Save"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
