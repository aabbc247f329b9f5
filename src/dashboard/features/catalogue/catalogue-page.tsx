import { useState } from "react";
import { useMayAdminister } from "../../data/roles.ts";
import { Button } from "../../kit/button.tsx";
import { Callout, Loaded } from "../../kit/feedback.tsx";
import { SearchField } from "../../kit/field.tsx";
import { PageHead } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { toast, toastError } from "../../kit/toast.tsx";
import { useChoice, useParam } from "../../kit/url-state.ts";
import { MarkupSection } from "../markups/markup-section.tsx";
import {
  type CatalogueDocument,
  type CatalogueModel,
  useCatalogue,
  useCatalogueDocument,
  useUnlisted,
  writeRow,
} from "./api.ts";
import { CatalogueTable } from "./catalogue-table.tsx";
import { JsonDialog } from "./json-dialog.tsx";
import { ModelDialog } from "./model-dialog.tsx";
import { toDraft, toRow, toUnder } from "./row-draft.ts";
import { UnlistedSection } from "./unlisted-section.tsx";
import { VirtualSection } from "./virtual-section.tsx";

const kinds = [
  ["all", "All"],
  ["served", "Served"],
  ["own", "Changed here"],
  ["signed", "Signed file"],
  ["disabled", "Disabled"],
] as const;
type Kind = (typeof kinds)[number][0];

const parts = [
  ["models", "Models"],
  ["virtual", "Virtual models"],
  ["unlisted", "Unlisted models"],
] as const;

/**
 * The open dialog: the form of a model or of a new model, or the files. Keeps the document as it was when the dialog
 * opened.
 */
type Open = { document: CatalogueDocument } & ({ json: true } | { model: CatalogueModel | undefined });

/** All models of all plugins, what the operator changes of them, and where each field comes from. */
export default function CataloguePage() {
  const catalogue = useCatalogue();
  const { data: document, error } = useCatalogueDocument();
  const { data: unlisted } = useUnlisted();
  const mayAdminister = useMayAdminister();
  const [search, setSearch] = useParam("search");
  const [kind, setKind] = useChoice("from", kinds);
  const [part, setPart] = useChoice("part", parts);
  const [open, setOpen] = useState<Open>();
  const toggle = async (model: CatalogueModel) => {
    if (document === undefined) return;
    const under = toUnder(model);
    const draft = {
      ...toDraft(model.plugin, model.model, model.row, model.own),
      disabled: model.row.disabled !== true,
    };
    const row = toRow(draft, under, model.row.price);
    try {
      await writeRow(model.plugin, model.model, row, document.revision);
      toast(`${model.name} is ${draft.disabled ? "disabled" : "enabled"}`);
    } catch (thrown) {
      toastError(thrown);
    }
  };
  return (
    <>
      <PageHead
        title="Models and prices"
        description="All models with prices and routes. Your changes override providers and signed price files."
      >
        {mayAdminister && (
          <>
            <Button disabled={document === undefined} onClick={() => document && setOpen({ document, json: true })}>
              Edit as JSON
            </Button>
            <Button
              look="primary"
              icon="plus"
              disabled={document === undefined || unlisted === undefined}
              onClick={() => document && setOpen({ document, model: undefined })}
            >
              Add model
            </Button>
          </>
        )}
      </PageHead>
      <Loaded state={catalogue} lines={8}>
        {({ data, shared, warnings }) => {
          const shown = data.filter((model) => matches(model, search, kind));
          return (
            <div className="stack">
              {error !== undefined && (
                <Callout tone="bad">
                  {(error as Error).message}. Models cannot be changed here until the file is fixed.
                </Callout>
              )}
              {warnings.map((sentence) => (
                <Callout key={sentence} tone="warn">
                  {sentence}
                </Callout>
              ))}
              {shared && (
                <Callout>
                  Models and prices are kept in files in this gateway’s home folder, not in the database. If other
                  gateways use the same database, make each change on all of them: copy the folder{" "}
                  <code>catalogue</code>, or let all homes share it.
                </Callout>
              )}
              <Segmented label="Part" value={part} options={parts} onChoose={setPart} />
              {part === "models" && (
                <MarkupSection hint="Percent above all prices, for providers and accounts without a markup of their own" />
              )}
              {part === "models" && (
                <section className="card" aria-label="Models">
                  <div className="card-head is-ruled">
                    <SearchField
                      label="Search models"
                      placeholder="Search by model, alias or provider"
                      value={search}
                      onText={setSearch}
                    />
                    <Segmented label="Origin" value={kind} options={kinds} onChoose={setKind} />
                  </div>
                  <CatalogueTable
                    models={shown}
                    isReadOnly={document === undefined || !mayAdminister}
                    onEdit={(model) => document && setOpen({ document, model })}
                    onToggle={toggle}
                  />
                </section>
              )}
              {part === "virtual" && document !== undefined && (
                <VirtualSection document={document} modelIds={[...new Set(data.map(({ name }) => name))]} />
              )}
              {part === "unlisted" && document !== undefined && unlisted !== undefined && (
                <UnlistedSection document={document} unlisted={unlisted} models={data} />
              )}
              {open !== undefined &&
                ("json" in open ? (
                  <JsonDialog document={open.document} onClose={() => setOpen(undefined)} />
                ) : (
                  <ModelDialog
                    key={open.model?.id}
                    model={open.model}
                    document={open.document}
                    models={data}
                    onOpen={(model) => setOpen({ document: open.document, model })}
                    plugins={(unlisted ?? []).map(({ id }) => id)}
                    onClose={() => setOpen(undefined)}
                  />
                ))}
            </div>
          );
        }}
      </Loaded>
    </>
  );
}

function matches({ model, plugin, row, own, signed, routes }: CatalogueModel, search: string, kind: Kind): boolean {
  if (kind === "served" && routes.length === 0) return false;
  if (kind === "own" && own === null) return false;
  if (kind === "signed" && signed === null) return false;
  if (kind === "disabled" && row.disabled !== true) return false;
  const query = search.trim().toLowerCase();
  return [model, plugin, ...(row.aliases ?? [])].some((text) => text.toLowerCase().includes(query));
}
