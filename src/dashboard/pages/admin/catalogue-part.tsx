import { useState } from "react";
import { type CatalogueRow, useCatalogue } from "../../data/admin.ts";
import { capabilityNames } from "../../data/models.ts";
import { Icon } from "../../ui/icon.tsx";
import { Section } from "../../ui/page.tsx";
import { Empty, Loaded } from "../../ui/states.tsx";

const states = { closed: "badge is-good", half_open: "badge is-warn", open: "badge is-bad" };

/** Every model on sale with its routes, the one that is asked first before the others, and whether each works. */
export function CataloguePart() {
  const catalogue = useCatalogue();
  const [search, setSearch] = useState("");
  const words = search.trim().toLowerCase();
  const fits = ({ id, aliases, routes }: CatalogueRow) =>
    [id, ...aliases, ...routes.map(({ plugin }) => plugin)].some((text) => text.toLowerCase().includes(words));
  return (
    <Section
      title="Catalogue"
      actions={
        <div className="search">
          <Icon name="search" size={16} />
          <input
            className="input"
            type="search"
            aria-label="Search the catalogue"
            placeholder="Search by model or plugin"
            value={search}
            onChange={(event) => setSearch(event.target.value)}
          />
        </div>
      }
    >
      <Loaded state={catalogue} lines={8}>
        {({ data }) => {
          const shown = data.filter(fits);
          return shown.length === 0 ? (
            <Empty icon="search" title="No model fits">
              <p>Search for less.</p>
            </Empty>
          ) : (
            <CatalogueTable rows={shown} />
          );
        }}
      </Loaded>
    </Section>
  );
}

function CatalogueTable({ rows }: { rows: readonly CatalogueRow[] }) {
  return (
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">Model</th>
            <th scope="col">Capability</th>
            <th scope="col">Facts</th>
            <th scope="col">Routes</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={row.id}>
              <td className="name lead">
                <span className="cut">{row.id}</span>
                <span className="sub cut">{row.aliases.join(", ") || row.owned_by}</span>
              </td>
              <td data-name="Capability">{capabilityNames[row.capability]}</td>
              <td className="soft" data-name="Facts">
                {factsOf(row)}
              </td>
              <td data-name="Routes">
                <span className="row">
                  {row.routes.map(({ plugin, state, priority, weight }) => (
                    <span key={plugin} className={states[state]} title={`priority ${priority}, weight ${weight}`}>
                      {plugin} {state}
                    </span>
                  ))}
                </span>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function factsOf({ premium, price, retired_on, successor, checked_on }: CatalogueRow): string {
  const facts = [premium ? "premium" : "free quota"];
  if (price === null) facts.push("no price");
  if (retired_on !== null) facts.push(`retired on ${retired_on}${successor === null ? "" : `, then ${successor}`}`);
  if (checked_on !== null) facts.push(`checked ${checked_on}`);
  return facts.join(" · ");
}
