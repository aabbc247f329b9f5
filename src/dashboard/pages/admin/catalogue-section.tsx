import { useState } from "react";
import { type CatalogueRow, useCatalogue } from "../../data/admin.ts";
import { capabilityNames } from "../../data/models.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { SearchField } from "../../ui/field.tsx";
import { Section } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";

/** By the state of the route's circuit breaker. */
const routeStates = {
  closed: { name: "ready", badge: "badge is-good" },
  half_open: { name: "half-open", badge: "badge is-warn" },
  open: { name: "circuit open", badge: "badge is-bad" },
};

/** Every model with its routes in the order they are tried, and the state of each. */
export function CatalogueSection() {
  const catalogue = useCatalogue();
  const [search, setSearch] = useState("");
  const query = search.trim().toLowerCase();
  const matches = ({ id, aliases, routes }: CatalogueRow) =>
    [id, ...aliases, ...routes.map(({ plugin }) => plugin)].some((text) => text.toLowerCase().includes(query));
  return (
    <Section
      title="Catalogue"
      actions={
        <SearchField
          label="Search catalogue"
          placeholder="Search by model or plugin"
          value={search}
          onText={setSearch}
        />
      }
    >
      <Loaded state={catalogue} lines={8}>
        {({ data }) => {
          const shown = data.filter(matches);
          return shown.length === 0 ? (
            <Empty icon="search" title="No models match">
              <p>Try another search.</p>
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
    <Table columns={["Model", "Capability", "Details", "Routes"]}>
      {rows.map((row) => (
        <tr key={row.id}>
          <td className="name lead">
            <span className="cut">{row.id}</span>
            <span className="sub cut">{row.aliases.join(", ") || row.owned_by}</span>
          </td>
          <td data-name="Capability">{capabilityNames[row.capability]}</td>
          <td className="soft" data-name="Details">
            {describeModel(row)}
          </td>
          <td data-name="Routes">
            <span className="row">
              {row.routes.map(({ plugin, state, priority, weight }) => (
                <span
                  key={plugin}
                  className={routeStates[state].badge}
                  title={`Circuit breaker ${state.replace("_", "-")}, priority ${priority}, weight ${weight}`}
                >
                  {plugin} {routeStates[state].name}
                </span>
              ))}
            </span>
          </td>
        </tr>
      ))}
    </Table>
  );
}

function describeModel({ premium, price, retired_on, successor, checked_on }: CatalogueRow): string {
  const details = [premium ? "wallet" : "free quota"];
  if (price === null) details.push("no price");
  if (retired_on !== null)
    details.push(`retired on ${retired_on}${successor === null ? "" : `, replaced by ${successor}`}`);
  if (checked_on !== null) details.push(`checked ${checked_on}`);
  return details.join(" · ");
}
