import { useState } from "react";
import { useMe } from "../data/session.ts";
import { Button } from "./button.tsx";
import { createStore } from "./create-store.ts";
import { Select } from "./field.tsx";
import { NameDialog } from "./form.tsx";
import { readList } from "./storage.ts";
import { replaceParams, useUrlParams } from "./url-state.ts";

/** The choices on a page, under a name. */
interface View {
  readonly name: string;
  /** The parameters of the address. */
  readonly search: string;
}

/** Changes whenever this tab writes a list of views. */
const version = createStore(0);
const nameLengthMax = 60;

/**
 * Saved views of a page: each is a name for its filters, ranges and order. They are kept in this browser, separately
 * for each user. To share a view, a user sends its link.
 *
 * @param page The name of the page among the saved lists.
 * @param left Parameters that are no part of a view, such as the opened request.
 */
export function SavedViews({ page, left = [] }: { page: string; left?: readonly string[] }) {
  const { data: me } = useMe();
  const params = useUrlParams();
  const [isSaving, setSaving] = useState(false);
  version.use();
  if (me === undefined) return null;
  const storageKey = `modelgate-views ${me.own_account} ${page}`;
  const views = readViews(storageKey);
  for (const name of left) params.delete(name);
  params.sort();
  const search = params.toString();
  const current = views.find((view) => view.search === search);
  return (
    <>
      {views.length > 0 && (
        <Select
          isSmall
          aria-label="Saved views"
          options={[["", "Saved views"], ...views.map(({ name }) => [name, name] as const)]}
          value={current?.name ?? ""}
          onText={(name: string) => replaceParams(views.find((view) => view.name === name)?.search ?? "")}
        />
      )}
      {current !== undefined ? (
        <Button
          onClick={() =>
            writeViews(
              storageKey,
              views.filter((view) => view !== current),
            )
          }
        >
          Delete view
        </Button>
      ) : (
        search !== "" && <Button onClick={() => setSaving(true)}>Save view</Button>
      )}
      {isSaving && (
        <NameDialog
          title="Save view"
          description="Saves the current filters, time and order. A view with the same name is replaced."
          lengthMax={nameLengthMax}
          act={async (name) => {
            writeViews(storageKey, [...views.filter((view) => view.name !== name), { name, search }]);
            setSaving(false);
          }}
          onClose={() => setSaving(false)}
        />
      )}
    </>
  );
}

function readViews(storageKey: string): readonly View[] {
  return (readList(storageKey) as (Partial<View> | null)[]).filter(isView);
}

function isView(value: Partial<View> | null): value is View {
  return typeof value?.name === "string" && typeof value.search === "string";
}

/** @throws {DOMException} if the browser blocks its storage. */
function writeViews(storageKey: string, views: readonly View[]): void {
  if (views.length === 0) localStorage.removeItem(storageKey);
  else localStorage.setItem(storageKey, JSON.stringify(views));
  version.set(version.get() + 1);
}
