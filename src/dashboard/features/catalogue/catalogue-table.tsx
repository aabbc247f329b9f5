import { Link } from "wouter";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Empty } from "../../kit/feedback.tsx";
import { actionsColumn, type Column, type FileColumn, Table } from "../../kit/table.tsx";
import { describeMarkup, findMarkup, useMarkups } from "../markups/markup-section.tsx";
import { listOtherNames } from "../models/api.ts";
import { ShortPrice } from "../models/models-table.tsx";
import { firstRate } from "../models/price-lines.ts";
import { isRetired, retiresSoon } from "../models/retirement.ts";
import { circuits, toProviderPath } from "../providers/describe.tsx";
import type { CatalogueModel } from "./api.ts";

export function CatalogueTable({
  models,
  isReadOnly,
  onEdit,
  onToggle,
}: {
  models: readonly CatalogueModel[];
  isReadOnly: boolean;
  onEdit: (model: CatalogueModel) => void;
  onToggle: (model: CatalogueModel) => Promise<void>;
}) {
  const { data: markups = [] } = useMarkups();
  const columns: readonly Column<CatalogueModel>[] = [
    {
      name: "Model",
      className: "name lead",
      sort: ({ name }) => name,
      cell: (entry) => (
        <>
          <LinkButton look="link cut" disabled={isReadOnly} onClick={() => onEdit(entry)}>
            {entry.name}
          </LinkButton>
          <span className="sub cut">
            {[entry.plugin, ...listOtherNames({ ...entry, ...entry.row, id: entry.model })].join(" · ")}
          </span>
        </>
      ),
    },
    {
      name: "Price",
      sort: (entry) => firstRate(soldAt(entry, markups)),
      className: "tight",
      cell: (entry) => <SalePrice entry={entry} markups={markups} />,
    },
    {
      name: "Routes",
      sort: ({ routes }) => routes.map(({ plugin }) => plugin).join(", "),
      cell: ({ plugin, routes, unserved_reason: reason }) => (
        <span className="row">
          {routes.length === 0 ? (
            reason === null ? (
              "–"
            ) : (
              <Link className="link" href={toProviderPath(plugin)}>
                No: {reason}
              </Link>
            )
          ) : (
            routes.map(({ plugin, state, priority, weight }) => (
              <span key={plugin} className={circuits[state]?.[1]} title={`Priority ${priority}, weight ${weight}`}>
                {plugin} {circuits[state]?.[0]}
              </span>
            ))
          )}
        </span>
      ),
    },
    {
      name: "From",
      sort: (model) =>
        badgesOf(model)
          .map(([text]) => text)
          .join(", "),
      cell: (model) => (
        <span className="row">
          {badgesOf(model).map(([text, look]) => (
            <span key={text} className={look}>
              {text}
            </span>
          ))}
        </span>
      ),
    },
    ...(isReadOnly
      ? []
      : [
          actionsColumn<CatalogueModel>((entry) => (
            <Button
              look="plain small"
              aria-label={`${entry.row.disabled ? "Enable" : "Disable"} ${entry.name} of ${entry.plugin}`}
              onClick={() => void onToggle(entry)}
            >
              {entry.row.disabled ? "Enable" : "Disable"}
            </Button>
          )),
        ]),
  ];
  return (
    <>
      <Table
        rows={models}
        rowKey={({ id }) => id}
        columns={columns}
        shownMax={50}
        fileName="catalogue"
        fileColumns={fileColumns}
        empty={
          <Empty icon="search" title="No models match">
            <p>Try another search or clear the filter.</p>
          </Empty>
        }
      />
      {models.length > 0 && (
        <div className="table-foot">{models.length === 1 ? "1 model" : `${models.length} models`}</div>
      )}
    </>
  );
}

type Markups = Parameters<typeof findMarkup>[0];

const toMarked = ({ plugin: provider, row: { price } }: CatalogueModel) => ({
  provider,
  ofModel: price?.markupPercent === undefined ? undefined : String(price.markupPercent),
});

/** The price that accounts without a markup of their own pay. */
function soldAt(entry: CatalogueModel, markups: Markups) {
  const { price } = entry.row;
  const markup = findMarkup(markups, toMarked(entry));
  return price === undefined || markup === undefined ? price : { ...price, markupPercent: Number(markup.percent) };
}

function SalePrice({ entry, markups }: { entry: CatalogueModel; markups: Markups }) {
  const { price, premium, source, checkedOn } = entry.row;
  const markup = price && describeMarkup(markups, toMarked(entry));
  const notes = [markup && `with ${markup}`, checkedOn && `checked ${checkedOn}`].filter(Boolean);
  return (
    <span title={source}>
      {premium === false && price === undefined ? "free quota" : <ShortPrice price={soldAt(entry, markups)} />}
      {notes.length > 0 && <span className="sub">{notes.join(" · ")}</span>}
    </span>
  );
}

const fileColumns: readonly FileColumn<CatalogueModel>[] = [
  { name: "Provider", sort: ({ plugin }) => plugin },
  { name: "ID", sort: ({ model }) => model },
  { name: "Aliases", sort: ({ row }) => row.aliases?.join(", ") },
  { name: "Retired on", sort: ({ row }) => row.retiredOn },
];

/** Where the fields of a model come from, and whether it is sold: the text and look of each badge. */
function badgesOf({ base, signed, own, row }: CatalogueModel): [text: string, look: string][] {
  const badges: [boolean, string, string][] = [
    [base !== null, "provider", "badge"],
    [signed !== null, "signed file", "badge"],
    [own !== null, "yours", "badge is-accent"],
    [base === null && signed === null && own === null, "found at provider", "badge"],
    [row.disabled === true, "disabled", "badge is-bad"],
    [isRetired(row), "retired", "badge is-warn"],
    [retiresSoon(row), `ends ${row.retiredOn}`, "badge is-warn"],
  ];
  return badges.flatMap(([isShown, text, look]) => (isShown ? [[text, look]] : []));
}
