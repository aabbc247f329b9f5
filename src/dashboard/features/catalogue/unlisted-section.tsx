import { useState } from "react";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import { Empty } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { capabilityNames } from "../models/api.ts";
import { ShortPrice } from "../models/models-table.tsx";
import { type CatalogueDocument, type CatalogueModel, writeCatalogue } from "./api.ts";
import { UnlistedDialog } from "./unlisted-dialog.tsx";
import { getTerms, setTerms, type Terms } from "./unlisted-terms.ts";

/** The terms of one provider, as they are in force. */
export interface UnlistedTerms {
  readonly plugin: string;
  readonly terms: Terms;
}

type Open = { document: CatalogueDocument; plugin: string; terms: Terms | undefined };

/** Prices and limits of providers' unlisted models. */
export function UnlistedSection({
  document,
  unlisted,
  plugins,
  models,
}: {
  document: CatalogueDocument;
  unlisted: readonly UnlistedTerms[];
  plugins: readonly string[];
  models: readonly CatalogueModel[];
}) {
  const [open, setOpen] = useState<Open>();
  const [removed, setRemoved] = useState<string>();
  const others = plugins.filter((name) => !unlisted.some(({ plugin }) => plugin === name));
  const isOwn = (plugin: string) => getTerms(document.files, plugin) != null;
  const countFound = (name: string) =>
    models.filter(({ plugin, base, signed, own }) => plugin === name && !base && !signed && !own).length;
  return (
    <Section
      title="Unlisted models"
      actions={
        <Button
          look="small"
          icon="plus"
          disabled={others.length === 0}
          onClick={() => setOpen({ document, plugin: others[0] ?? "", terms: undefined })}
        >
          Sell unlisted models
        </Button>
      }
    >
      <Table
        rows={unlisted}
        rowKey={({ plugin }) => plugin}
        sortName="unlisted"
        empty={
          <Empty icon="search" title="Only listed models are sold">
            <p>Give a provider a price, and every other model that it has is found there and sold by that.</p>
          </Empty>
        }
        columns={[
          {
            name: "Provider",
            className: "name lead",
            cell: ({ plugin, terms }) => (
              <>
                <LinkButton look="link cut" onClick={() => setOpen({ document, plugin, terms })}>
                  {plugin}
                </LinkButton>
                <span className="sub cut">{capabilityNames[terms.capability ?? "chat"]}</span>
              </>
            ),
          },
          { name: "Price", className: "tight", cell: ({ terms: { price } }) => <ShortPrice price={price} /> },
          { name: "Billing", cell: ({ terms: { premium } }) => (premium ? "wallet" : "free quota") },
          { name: "Found", className: "tight", cell: ({ plugin }) => countFound(plugin).toLocaleString("en-US") },
          {
            name: "From",
            cell: ({ plugin }) =>
              isOwn(plugin) ? <span className="badge is-accent">yours</span> : <span className="badge">plugin</span>,
          },
          {
            name: "Actions",
            isUnnamed: true,
            className: "end actions",
            cell: ({ plugin }) => (
              <Button
                look="plain small"
                aria-label={`Remove the terms of ${plugin}`}
                onClick={() => setRemoved(plugin)}
              >
                Remove
              </Button>
            ),
          },
        ]}
      />
      {open !== undefined && <UnlistedDialog {...open} plugins={others} onClose={() => setOpen(undefined)} />}
      {removed !== undefined && (
        <Confirm
          title={`Sell only listed models of ${removed}?`}
          action="Remove terms"
          act={async () => {
            const files = setTerms(document.files, removed, isOwn(removed) ? undefined : null);
            await writeCatalogue({ ...document, files });
            toast(`Unlisted models of ${removed} are no longer served`);
          }}
          onClose={() => setRemoved(undefined)}
        >
          Calls of models without a row are refused from then on
          {isOwn(removed) ? ", unless its plugin declares prices: those apply again." : "."}
        </Confirm>
      )}
    </Section>
  );
}
