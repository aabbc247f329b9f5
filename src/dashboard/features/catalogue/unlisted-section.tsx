import { useState } from "react";
import { useMayAdminister } from "../../data/roles.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { capabilityNames } from "../models/api.ts";
import { ShortPrice } from "../models/models-table.tsx";
import { type CatalogueDocument, type CatalogueModel, type Terms, type UnlistedTerms, writeTerms } from "./api.ts";
import { UnlistedDialog } from "./unlisted-dialog.tsx";

type Open = { document: CatalogueDocument; plugin: string; terms: Terms | undefined };

/** Prices and limits of providers' unlisted models. */
export function UnlistedSection({
  document,
  unlisted,
  models,
}: {
  /** The files that are shown. */
  document: CatalogueDocument;
  /** All providers. */
  unlisted: readonly UnlistedTerms[];
  models: readonly CatalogueModel[];
}) {
  const mayAdminister = useMayAdminister();
  const [open, setOpen] = useState<Open>();
  const [removed, setRemoved] = useState<{ revision: string; id: string; own: boolean }>();
  const sold = unlisted.flatMap(({ terms, ...provider }) => (terms === null ? [] : { ...provider, terms }));
  const others = unlisted.flatMap(({ id, terms }) => (terms === null ? id : []));
  const countFound = (name: string) =>
    models.filter(({ plugin, base, signed, own }) => plugin === name && !base && !signed && !own).length;
  return (
    <Section
      title="Unlisted models"
      actions={
        mayAdminister && (
          <Button
            look="small"
            icon="plus"
            disabled={others.length === 0}
            onClick={() => setOpen({ document, plugin: others[0] ?? "", terms: undefined })}
          >
            Sell unlisted models
          </Button>
        )
      }
    >
      <Table
        rows={sold}
        rowKey={({ id }) => id}
        sortName="unlisted"
        empty={
          <Empty icon="search" title="Only listed models are sold">
            <p>Set a price for a provider, and all its other models are found and sold at that price.</p>
          </Empty>
        }
        columns={[
          {
            name: "Provider",
            className: "name lead",
            cell: ({ id, terms }) => (
              <>
                <LinkButton
                  look="link cut"
                  disabled={!mayAdminister}
                  onClick={() => setOpen({ document, plugin: id, terms })}
                >
                  {id}
                </LinkButton>
                <span className="sub cut">{capabilityNames[terms.capability ?? "chat"]}</span>
              </>
            ),
          },
          { name: "Price", className: "tight", cell: ({ terms: { price } }) => <ShortPrice price={price} /> },
          { name: "Billing", cell: ({ terms: { premium } }) => (premium ? "wallet" : "free quota") },
          { name: "Found", className: "tight", cell: ({ id }) => countFound(id).toLocaleString("en-US") },
          {
            name: "From",
            cell: ({ own }) =>
              own ? <span className="badge is-accent">yours</span> : <span className="badge">provider</span>,
          },
          ...(mayAdminister
            ? [
                actionsColumn<UnlistedTerms>((provider) => (
                  <Button
                    look="plain small"
                    aria-label={`Remove the terms of ${provider.id}`}
                    onClick={() => setRemoved({ revision: document.revision, ...provider })}
                  >
                    Remove
                  </Button>
                )),
              ]
            : []),
        ]}
      />
      {open !== undefined && <UnlistedDialog {...open} plugins={others} onClose={() => setOpen(undefined)} />}
      {removed !== undefined && (
        <Confirm
          title={`Sell only listed models of ${removed.id}?`}
          action="Remove terms"
          act={async () => {
            await writeTerms(removed.id, removed.own ? undefined : null, removed.revision);
            toast(`Unlisted models of ${removed.id} are no longer served`);
          }}
          onClose={() => setRemoved(undefined)}
        >
          Calls of models without a row will be refused
          {removed.own ? ", unless the provider declares prices: those apply again." : "."}
        </Confirm>
      )}
    </Section>
  );
}
