import { type ComponentProps, useDeferredValue } from "react";
import { SearchField, Select } from "../../kit/field.tsx";
import { Pager } from "../../kit/table.tsx";
import { useChoice, usePageNumber, useParam } from "../../kit/url-state.ts";
import { type Key, keyOrders } from "./api.ts";
import { KeysTable } from "./keys-table.tsx";

/** Keys on one page. */
const pageSize = 50;
/** Fewer keys are found by looking at them. */
const searchedMin = 10;

/** The keys of one account, a page at a time: an account has up to a thousand. */
export function AccountKeys({ keys, ...table }: ComponentProps<typeof KeysTable<Key>>) {
  const [search, setSearch] = useParam("search");
  const [order, setOrder] = useChoice("order", keyOrders);
  const [page, toPage] = usePageNumber();
  const text = useDeferredValue(search.trim().toLowerCase());
  const fitting = keys.filter((key) => isMatch(key, text)).toSorted((one, other) => compareBy(order, one, other));
  const start = (page - 1) * pageSize;
  return (
    <>
      {(keys.length > searchedMin || search !== "") && (
        <div className="card-head is-ruled">
          <SearchField
            label="Search these keys"
            placeholder="Part of a key, its name or its maker"
            value={search}
            onText={setSearch}
          />
          <Select isSmall aria-label="Order" options={keyOrders} value={order} onText={setOrder} />
        </div>
      )}
      <KeysTable {...table} keys={fitting.slice(start, start + pageSize)} />
      <Pager page={page} hasMore={fitting.length > start + pageSize} toPage={toPage} />
    </>
  );
}

function isMatch({ id, name, created_by }: Key, text: string): boolean {
  // The masked form is what lists and logs show.
  const part = text.replace(/^sk-mg-/, "").replace(/-…?$/, "");
  return [id, name, created_by ?? ""].some((each) => each.toLowerCase().includes(part));
}

/** Keys without the value come last. */
function compareBy(order: (typeof keyOrders)[number][0], one: Key, other: Key): number {
  switch (order) {
    case "created":
      return compareTexts(other.created_at, one.created_at);
    case "last_used":
      return compareTexts(other.last_used_at, one.last_used_at);
    case "expires":
      return one.expires_at === null || other.expires_at === null
        ? Number(one.expires_at === null) - Number(other.expires_at === null)
        : compareTexts(one.expires_at, other.expires_at);
    case "name":
      return one.name.localeCompare(other.name);
  }
}

function compareTexts(one: string | null, other: string | null): number {
  const [a, b] = [one ?? "", other ?? ""];
  return a === b ? 0 : a < b ? -1 : 1;
}
