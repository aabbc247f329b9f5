import { useEffect, useState } from "react";
import { useSearchParams } from "wouter";
import { readQuery, spans } from "../data/filters.ts";
import { TextField } from "./field.tsx";

/** Changes filters in the address; an empty value removes one. */
export type ChangeFilters = (changes: Readonly<Record<string, string>>) => void;

/** The filters of these names that stand in the address, and what changes them. */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const [params, setParams] = useSearchParams();
  const change: ChangeFilters = (changes) =>
    setParams(
      (before) => {
        const after = new URLSearchParams(before);
        for (const [name, value] of Object.entries(changes)) {
          if (value === "") after.delete(name);
          else after.set(name, value);
        }
        return after;
      },
      { replace: true },
    );
  return {
    params,
    query: readQuery(params, names, Date.now()),
    isFiltered: ["span", ...names].some((name) => params.has(name)),
    change,
    clear: () => setParams({}, { replace: true }),
  };
}

export const times = [
  ["", "Any time"],
  ...Object.entries(spans).map(([key, { name }]) => [key, name] as const),
] as const;

interface SpanFieldsProps {
  params: URLSearchParams;
  onChange: ChangeFilters;
}

export function SpanFields({ params, onChange }: SpanFieldsProps) {
  return (
    <>
      <LateField
        label="From"
        type="datetime-local"
        value={toLocal(params.get("from"))}
        onText={(value) => onChange({ from: toMoment(value), span: "" })}
      />
      <LateField
        label="Until"
        type="datetime-local"
        value={toLocal(params.get("until"))}
        onText={(value) => onChange({ until: toMoment(value) })}
      />
    </>
  );
}

/** The time of an address in the words of the control, which knows no time zone. */
function toLocal(moment: string | null): string {
  const at = moment === null ? Number.NaN : Date.parse(moment);
  if (Number.isNaN(at)) return "";
  return new Date(at - new Date(at).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
}

function toMoment(local: string): string {
  return local === "" ? "" : new Date(local).toISOString();
}

/** What is typed and not yet applied; replaced when the applied value changes. */
export function useDraft(value: string) {
  const [draft, setDraft] = useState(value);
  useEffect(() => setDraft(value), [value]);
  return [draft, setDraft] as const;
}

/** A text field that is applied when it is left, or by Enter: each letter would be a search. */
export function LateField({ value, onText, ...field }: Parameters<typeof TextField>[0]) {
  const [draft, setDraft] = useDraft(value);
  const apply = () => draft.trim() !== value && onText(draft.trim());
  return (
    <TextField
      {...field}
      value={draft}
      onText={setDraft}
      onBlur={apply}
      onKeyDown={({ key }) => key === "Enter" && apply()}
    />
  );
}
