import { type FormEvent, useState } from "react";
import { mutate } from "swr";
import { createKey } from "../../data/keys.ts";
import { Callout } from "../../ui/callout.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { Field, TextField } from "../../ui/field.tsx";
import { useAction } from "../../ui/use-action.ts";
import { expiries, expiryOf } from "./expiries.ts";
import { KeyMade } from "./key-made.tsx";
import { ModelPicker } from "./model-picker.tsx";

const nameLengthMax = 200;

/** Asks what the key is for and how far it goes, makes it, and shows its secret once. */
export function NewKeyDialog({ onClose }: { onClose: () => void }) {
  const [name, setName] = useState("");
  const [expiry, setExpiry] = useState("never");
  const [day, setDay] = useState("");
  const [budget, setBudget] = useState("");
  const [models, setModels] = useState<readonly string[]>();
  const [made, setMade] = useState<{ key: string; model: string | undefined }>();
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    const expiresAt = expiryOf(expiry, day, Date.now());
    const { key } = await createKey({
      name: name.trim(),
      ...(expiresAt !== undefined && { expires_at: expiresAt }),
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
  const wrong = otherThan("name", "expires", "expires_at", "budget_usd", "allowed_models");
  return (
    <Dialog
      title="New API key"
      about="Give each program a key of its own: then one can be ended alone."
      onClose={onClose}
    >
      <form onSubmit={submit} noValidate>
        <div className="dialog-body">
          {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
          <TextField
            label="Name"
            placeholder="Such as: website, laptop, nightly job"
            autoFocus
            value={name}
            onText={setName}
            hint={name.length > nameLengthMax ? `${name.length} of at most ${nameLengthMax} characters` : undefined}
            wrong={wrongOf("name")}
          />
          <Field label="Expires" wrong={wrongOf("expires", "expires_at")}>
            {(tied) => (
              <select {...tied} className="input" value={expiry} onChange={(event) => setExpiry(event.target.value)}>
                {expiries.map(([key, words]) => (
                  <option key={key} value={key}>
                    {words}
                  </option>
                ))}
              </select>
            )}
          </Field>
          {expiry === "day" && <TextField label="Last day (UTC)" type="date" required value={day} onText={setDay} />}
          <TextField
            label="Monthly budget in US dollars"
            inputMode="decimal"
            placeholder="no bound of its own"
            hint="What premium calls of this key may cost in a calendar month (UTC)"
            value={budget}
            onText={setBudget}
            wrong={wrongOf("budget_usd")}
          />
          <ModelPicker chosen={models} onChoose={setModels} wrong={wrongOf("allowed_models")} />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button
            type="submit"
            className="btn btn-primary"
            disabled={isBusy || name.trim() === "" || (expiry === "day" && day === "") || models?.length === 0}
          >
            {isBusy ? "Making…" : "Make key"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
