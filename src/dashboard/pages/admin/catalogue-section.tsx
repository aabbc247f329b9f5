import { useState } from "react";
import { type CatalogueRow, useCatalogue } from "../../data/admin.ts";
import { capabilityNames, isRetired } from "../../data/models.ts";
import { Empty, Loaded } from "../../ui/feedback.tsx";
import { SearchField } from "../../ui/field.tsx";
import { Section } from "../../ui/page.tsx";
import { type Column, Table } from "../../ui/table.tsx";

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
        {({ data }) => <Table rows={data.filter(matches)} rowKey={({ id }) => id} columns={columns} empty={empty} />}
      </Loaded>
    </Section>
  );
}

const columns: readonly Column<CatalogueRow>[] = [
  {
    name: "Model",
    className: "name lead",
    cell: ({ id, aliases, owned_by }) => (
      <>
        <span className="cut">{id}</span>
        <span className="sub cut">{aliases.join(", ") || owned_by}</span>
      </>
    ),
  },
  { name: "Capability", cell: ({ capability }) => capabilityNames[capability] },
  { name: "Details", className: "soft", cell: describeModel },
  {
    name: "Routes",
    cell: ({ routes }) => (
      <span className="row">
        {routes.map(({ plugin, state, priority, weight }) => (
          <span
            key={plugin}
            className={routeStates[state].badge}
            title={`Circuit breaker ${state.replace("_", "-")}, priority ${priority}, weight ${weight}`}
          >
            {plugin} {routeStates[state].name}
          </span>
        ))}
      </span>
    ),
  },
];

const empty = (
  <Empty icon="search" title="No models match">
    <p>Try another search.</p>
  </Empty>
);

function describeModel({ premium, price, retired_on, successor, checked_on }: CatalogueRow): string {
  const details = [premium ? "wallet" : "free quota"];
  if (price === null) details.push("no price");
  if (retired_on !== null)
    details.push(
      `${isRetired({ retiredOn: retired_on }) ? "retired" : "retires"} on ${retired_on}${successor === null ? "" : `, replaced by ${successor}`}`,
    );
  if (checked_on !== null) details.push(`checked ${checked_on}`);
  return details.join(" · ");
}
