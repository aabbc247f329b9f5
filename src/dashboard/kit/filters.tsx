import { useEffect, useState } from "react";
import { startOfRange } from "../data/time-range.ts";
import { fromInput, toInput, useZoneName } from "../data/time-zone.ts";
import { TextField } from "./field.tsx";
import { type ChangeParams, clearParams, setParams, useUrlParams } from "./url-state.ts";

/** The filters of these names that stand in the address, as the API takes them, and what changes them. */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const params = useUrlParams();
  return {
    params,
    query: readQuery(params, names, Date.now()),
    isFiltered: ["span", ...names].some((name) => params.has(name)),
    change: setParams,
    clear: clearParams,
  };
}

/** `from` may be there as a `span` up to now. */
function readQuery<Name extends string>(
  params: URLSearchParams,
  names: readonly (Name | "from" | "until")[],
  now: number,
): Partial<Record<Name | "from" | "until", string>> {
  const query: Partial<Record<Name | "from" | "until", string>> = {};
  for (const name of names) {
    const value = params.get(name);
    if (value !== null && value !== "") query[name] = value;
  }
  for (const name of ["from", "until"] as const) {
    const at = Date.parse(query[name] ?? "");
    if (Number.isNaN(at)) delete query[name];
    else query[name] = new Date(at).toISOString();
  }
  const from = startOfRange(params.get("span") ?? "", now);
  if (from !== undefined) query.from = from;
  return query;
}

interface SpanFieldsProps {
  params: URLSearchParams;
  onChange: ChangeParams;
}

export function SpanFields({ params, onChange }: SpanFieldsProps) {
  const zone = useZoneName();
  return (
    <>
      <DebouncedField
        label={`From (${zone})`}
        type="datetime-local"
        value={toInput(params.get("from"))}
        onText={(value) => onChange({ from: fromInput(value), span: "" })}
      />
      <DebouncedField
        label={`Until (${zone})`}
        type="datetime-local"
        value={toInput(params.get("until"))}
        onText={(value) => onChange({ until: fromInput(value) })}
      />
    </>
  );
}

/** A draft that is typed and not yet applied; replaced when the applied value changes. */
export function useDraft(value: string) {
  const [draft, setDraft] = useState(value);
  useEffect(() => setDraft(value), [value]);
  return [draft, setDraft] as const;
}

/** A text field that is applied when it is left, or by Enter: each letter would be a search. */
export function DebouncedField({ value, onText, ...field }: Parameters<typeof TextField>[0]) {
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
