import { SelectField, TextField } from "../../kit/field.tsx";
import { FigureField, isFigure, readFigures } from "../../kit/figures.tsx";
import type { useForm } from "../../kit/form.tsx";
import { BudgetFields } from "../budgets/budget-fields.tsx";
import { useModels } from "../models/api.ts";
import { type BudgetPeriod, budgetPeriods, type Key } from "./api.ts";
import { ModelPicker } from "./model-picker.tsx";

const dayMs = 86_400_000;

const expiries = [
  ["never", "Never"],
  ["7", "In 7 days"],
  ["30", "In 30 days"],
  ["90", "In 90 days"],
  ["365", "In 1 year"],
  ["day", "On a date…"],
] as const;

export interface KeyDraft {
  readonly name: string;
  /** One of the choices, or `keep`. */
  readonly expires_at: string;
  /** The date, if the choice is `day`. */
  readonly day: string;
  /** Empty: no limit. */
  readonly budget_usd: string;
  readonly budget_period: BudgetPeriod;
  /** Absent: all models. */
  readonly allowed_models: readonly string[] | undefined;
  /** Addresses and ranges, separated by commas; empty: any. */
  readonly allowed_networks: string;
  readonly cache_marks: Key["cache_marks"];
  /** Empty here and in the next two: only the limit of the account applies. */
  readonly requests_per_minute: string;
  readonly tokens_per_minute: string;
  readonly concurrent_calls: string;
}

const cacheMarks = [
  ["auto", "Where they pay"],
  ["off", "Off"],
] as const;

const limitNames = {
  requests_per_minute: "Requests per minute",
  tokens_per_minute: "Tokens per minute",
  concurrent_calls: "Concurrent calls",
} as const;
const limits = Object.keys(limitNames) as (keyof typeof limitNames)[];

/** The limits of a draft as the API takes them; `null`: no limit. */
export function toLimits(draft: KeyDraft) {
  return readFigures({
    requests_per_minute: draft.requests_per_minute,
    tokens_per_minute: draft.tokens_per_minute,
    concurrent_calls: draft.concurrent_calls,
  });
}

/** The networks of a text; absent: any. */
export function splitNetworks(text: string): string[] | undefined {
  const networks = text.split(/[\s,]+/).filter((network) => network !== "");
  return networks.length === 0 ? undefined : networks;
}

const nameLengthMax = 200;

export function isComplete(draft: KeyDraft): boolean {
  const { name, expires_at, day, allowed_models } = draft;
  if (!limits.every((limit) => isFigure(draft[limit]))) return false;
  return name.trim() !== "" && !(expires_at === "day" && day === "") && allowed_models?.length !== 0;
}

export function KeyFields({
  form: { values, set, field, fieldError },
  kept: keepLabel,
}: {
  form: ReturnType<typeof useForm<KeyDraft>>;
  /** The label of the present expiry; absent for a new key. */
  kept?: string;
}) {
  const { length } = values.name;
  const { data: models } = useModels();
  return (
    <>
      <TextField
        label="Name"
        placeholder="e.g. website, laptop, nightly job"
        autoFocus
        {...field("name")}
        hint={length > nameLengthMax ? `${length} of at most ${nameLengthMax} characters` : undefined}
      />
      <SelectField
        label="Expires"
        options={keepLabel === undefined ? expiries : [["keep", keepLabel], ...expiries]}
        {...field("expires_at")}
      />
      {values.expires_at === "day" && <TextField label="Valid through (UTC)" type="date" required {...field("day")} />}
      <BudgetFields form={{ values, set, field, fieldError }} periods={budgetPeriods} whose="key" />
      <ModelPicker
        models={models?.data}
        selected={values.allowed_models}
        onSelect={(allowed_models) => set({ allowed_models })}
        error={fieldError("allowed_models")}
      />
      <TextField
        label="Allowed networks"
        placeholder="Any"
        hint="Addresses and ranges such as 203.0.113.0/24, separated by commas"
        {...field("allowed_networks")}
      />
      <SelectField
        label="Marks for prompt caches"
        options={cacheMarks}
        hint="For clients that mark nothing themselves"
        {...field("cache_marks")}
      />
      <details className="more" open={limits.some((limit) => values[limit] !== "")}>
        <summary>Rate limits</summary>
        <div className="stack">
          {limits.map((limit) => (
            <FigureField
              key={limit}
              label={limitNames[limit]}
              placeholder="Limit of the account"
              {...field(limit)}
              {...(!isFigure(values[limit]) && { error: "Enter a whole number from 1" })}
            />
          ))}
        </div>
      </details>
    </>
  );
}

/** An ISO timestamp; a chosen day counts until its end. */
export function toExpiresAt(choice: string, day: string, now: number): string | null {
  if (choice === "never") return null;
  if (choice === "day") return `${day}T23:59:59Z`;
  return new Date(now + Number(choice) * dayMs).toISOString();
}
