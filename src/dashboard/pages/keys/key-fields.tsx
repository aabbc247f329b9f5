import { SelectField, TextField } from "../../ui/field.tsx";
import { ModelPicker } from "./model-picker.tsx";

const dayMs = 86_400_000;

/** Choices for the expiry of a key. */
const expiries = [
  ["never", "Never"],
  ["7", "In 7 days"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In 1 year"],
  ["day", "On a date…"],
] as const;

/** The values of the form. */
export interface KeyDraft {
  readonly name: string;
  /** One of the choices, or `keep`. */
  readonly expiry: string;
  /** The date, if the choice is `day`. */
  readonly day: string;
  /** US dollars; empty: no limit. */
  readonly budget: string;
  /** Absent: all models. */
  readonly models: readonly string[] | undefined;
}

/** Error parameters that have a field in this form. */
export const keyParams = ["name", "expires_at", "budget_usd", "allowed_models"] as const;
const nameLengthMax = 200;

export function isComplete({ name, expiry, day, models }: KeyDraft): boolean {
  return name.trim() !== "" && !(expiry === "day" && day === "") && models?.length !== 0;
}

/** The name and limits of a key. */
export function KeyFields({
  draft,
  onDraft,
  fieldError,
  kept,
}: {
  draft: KeyDraft;
  onDraft: (draft: KeyDraft) => void;
  fieldError: (...params: string[]) => string | undefined;
  /** The label of the present expiry; absent for a new key. */
  kept?: string;
}) {
  const set = (change: Partial<KeyDraft>) => onDraft({ ...draft, ...change });
  const choices = kept === undefined ? expiries : ([["keep", kept], ...expiries] as const);
  return (
    <>
      <TextField
        label="Name"
        placeholder="e.g. website, laptop, nightly job"
        autoFocus
        value={draft.name}
        onText={(name) => set({ name })}
        hint={
          draft.name.length > nameLengthMax ? `${draft.name.length} of at most ${nameLengthMax} characters` : undefined
        }
        error={fieldError("name")}
      />
      <SelectField
        label="Expires"
        options={choices}
        value={draft.expiry}
        onText={(expiry) => set({ expiry })}
        error={fieldError("expires_at")}
      />
      {draft.expiry === "day" && (
        <TextField label="Valid through (UTC)" type="date" required value={draft.day} onText={(day) => set({ day })} />
      )}
      <TextField
        label="Monthly budget (USD)"
        inputMode="decimal"
        placeholder="No limit"
        hint="Maximum cost of premium calls per calendar month (UTC)"
        value={draft.budget}
        onText={(budget) => set({ budget })}
        error={fieldError("budget_usd")}
      />
      <ModelPicker
        selected={draft.models}
        onSelect={(models) => set({ models })}
        error={fieldError("allowed_models")}
      />
    </>
  );
}

/** An ISO timestamp; a chosen day counts until its end. */
export function toExpiresAt(choice: string, day: string, now: number): string | null {
  if (choice === "never") return null;
  if (choice === "day") return `${day}T23:59:59Z`;
  return new Date(now + Number(choice) * dayMs).toISOString();
}
