import { type FormEvent, useState } from "react";
import { mutate } from "swr";
import { createKey } from "../../data/keys.ts";
import { Callout } from "../../ui/callout.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { useAction } from "../../ui/use-action.ts";
import { expiryOf } from "./expiries.ts";
import { isWhole, type KeyDraft, KeyFields, keyParams } from "./key-fields.tsx";
import { KeyMade } from "./key-made.tsx";

const empty: KeyDraft = { name: "", expiry: "never", day: "", budget: "", models: undefined };

/** Asks what the key is for and how far it goes, makes it, and shows its secret once. */
export function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const [draft, setDraft] = useState(empty);
  const [made, setMade] = useState<{ key: string; model: string | undefined }>();
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
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
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  if (made !== undefined) return <KeyMade secret={made.key} model={made.model} onClose={onClose} />;
  const wrong = otherThan(...keyParams);
  return (
    <Dialog
      title="New API key"
      about="Give each program a key of its own: then one can be ended alone."
      onClose={onClose}
    >
      <form onSubmit={submit} noValidate>
        <div className="dialog-body">
          {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
          <KeyFields draft={draft} onDraft={setDraft} wrongOf={wrongOf} />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary" disabled={isBusy || !isWhole(draft)}>
            {isBusy ? "Making…" : "Make key"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
