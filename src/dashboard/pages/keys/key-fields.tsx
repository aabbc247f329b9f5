import { Field, TextField } from "../../ui/field.tsx";
import { expiries } from "./expiries.ts";
import { ModelPicker } from "./model-picker.tsx";

/** What is filled in of a key. */
export interface KeyDraft {
  readonly name: string;
  /** One of the choices, or `keep`. */
  readonly expiry: string;
  /** The day, where that is the choice. */
  readonly day: string;
  /** US dollars; empty: none. */
  readonly budget: string;
  /** Absent: all. */
  readonly models: readonly string[] | undefined;
}

/** What a refusal may name that has a field here. */
export const keyParams = ["name", "expires_at", "budget_usd", "allowed_models"] as const;
const nameLengthMax = 200;

export function isWhole({ name, expiry, day, models }: KeyDraft): boolean {
  return name.trim() !== "" && !(expiry === "day" && day === "") && models?.length !== 0;
}

/** What a key is for and how far it goes. */
export function KeyFields({
  draft,
  onDraft,
  wrongOf,
  kept,
}: {
  draft: KeyDraft;
  onDraft: (draft: KeyDraft) => void;
  wrongOf: (...params: string[]) => string | undefined;
  /** When it expires now, in words; absent: it is made anew. */
  kept?: string;
}) {
  const set = (change: Partial<KeyDraft>) => onDraft({ ...draft, ...change });
  const choices = kept === undefined ? expiries : ([["keep", kept], ...expiries] as const);
  return (
    <>
      <TextField
        label="Name"
        placeholder="Such as: website, laptop, nightly job"
        autoFocus
        value={draft.name}
        onText={(name) => set({ name })}
        hint={
          draft.name.length > nameLengthMax ? `${draft.name.length} of at most ${nameLengthMax} characters` : undefined
        }
        wrong={wrongOf("name")}
      />
      <Field label="Expires" wrong={wrongOf("expires_at")}>
        {(tied) => (
          <select
            {...tied}
            className="input"
            value={draft.expiry}
            onChange={(event) => set({ expiry: event.target.value })}
          >
            {choices.map(([key, words]) => (
              <option key={key} value={key}>
                {words}
              </option>
            ))}
          </select>
        )}
      </Field>
      {draft.expiry === "day" && (
        <TextField label="Last day (UTC)" type="date" required value={draft.day} onText={(day) => set({ day })} />
      )}
      <TextField
        label="Monthly budget in US dollars"
        inputMode="decimal"
        placeholder="no bound of its own"
        hint="What premium calls of this key may cost in a calendar month (UTC)"
        value={draft.budget}
        onText={(budget) => set({ budget })}
        wrong={wrongOf("budget_usd")}
      />
      <ModelPicker chosen={draft.models} onChoose={(models) => set({ models })} wrong={wrongOf("allowed_models")} />
    </>
  );
}
