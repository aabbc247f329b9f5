import { useEffect, useState } from "react";
import useSWRInfinite, { type SWRInfiniteConfiguration, type SWRInfiniteResponse } from "swr/infinite";
import { startOfRange } from "../data/time-range.ts";
import { fromInput, toInput, useZoneName } from "../data/time-zone.ts";
import { formatCount, formatMoment } from "../format.ts";
import { Button, DownloadLink } from "./button.tsx";
import { Empty } from "./feedback.tsx";
import { TextField } from "./field.tsx";
import { clearParams, setParams, useUrlParams } from "./url-state.ts";

/** A page of a log, newest first, and where an older one begins. */
interface LogPage {
  readonly data: readonly unknown[];
  readonly next: { readonly before: string | null; readonly before_id: string } | null;
}

/** The pages of a log that were searched so far, newest first. */
export function useLog<Page extends LogPage, Query extends object>(
  name: string,
  query: Query,
  getPage: (query: Query & { before?: string; before_id?: string }) => Promise<Page>,
  options: SWRInfiniteConfiguration = {},
) {
  const text = JSON.stringify(query);
  return useSWRInfinite(
    (place: number, last: Page | null) => {
      if (place > 0 && !last?.next) return null;
      return [name, text, last?.next?.before, last?.next?.before_id] as const;
    },
    ([, filter, before, id]) => getPage({ ...JSON.parse(filter), ...(before && { before, before_id: id }) }),
    { keepPreviousData: true, ...options },
  );
}

/** Searches that go on by themselves while they find nothing. */
const emptySearchesMax = 20;

/**
 * How far a log was searched, and the button that goes on; nothing at the end of the log.
 *
 * @param nouns One of what is searched, and several.
 */
export function LoadMore({
  nouns: [one, several],
  log: { data: pages = [], size, isValidating, setSize },
}: {
  nouns: readonly [string, string];
  log: SWRInfiniteResponse<LogPage>;
}) {
  const count = pages.reduce((sum, { data }) => sum + data.length, 0);
  const next = pages.at(-1)?.next ?? null;
  const goesOn = count === 0 && next !== null && pages.length < emptySearchesMax;
  const isLoading = goesOn || (isValidating && pages.length < size);
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page that was loaded
  useEffect(() => {
    if (goesOn) void setSize(size + 1);
  }, [goesOn, pages.length]);
  if (next === null) return null;
  return (
    <div className="table-foot">
      <span role="status">
        {formatCount(count)} {count === 1 ? one : several}, searched back to {formatMoment(next.before)}
      </span>
      <Button look="small" disabled={isLoading} onClick={() => void setSize(size + 1)}>
        {isLoading ? "Searching…" : "Search further back"}
      </Button>
    </div>
  );
}

/** The empty state of a log when no entry fits the filters. */
export function NothingFits({ noun }: { noun: string }) {
  return (
    <Empty icon="list" title={`No ${noun} fits these filters`}>
      <div className="row">
        <Button onClick={clearParams}>Clear filters</Button>
      </div>
    </Empty>
  );
}

const formats = ["csv", "jsonl"] as const;

/** Links to a log as a file. */
export function DownloadLinks({ toAddress }: { toAddress: (format: (typeof formats)[number]) => string }) {
  return formats.map((format) => <DownloadLink key={format} href={toAddress(format)} label={format.toUpperCase()} />);
}

/** Reads the filters with these names from the address, in the form that the API takes. */
export function useFilters<Name extends string>(names: readonly Name[]) {
  const params = useUrlParams();
  return {
    params,
    query: readQuery(params, names, Date.now()),
    isFiltered: ["span", ...names].some((name) => params.has(name)),
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

export function SpanFields({ params }: { params: URLSearchParams }) {
  const zone = useZoneName();
  return (
    <>
      <DebouncedField
        label={`From (${zone})`}
        type="datetime-local"
        value={toInput(params.get("from"))}
        onText={(value) => setParams({ from: fromInput(value), span: "" })}
      />
      <DebouncedField
        label={`Until (${zone})`}
        type="datetime-local"
        value={toInput(params.get("until"))}
        onText={(value) => setParams({ until: fromInput(value) })}
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
