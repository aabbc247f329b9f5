import { Link } from "wouter";
import { fromSeconds } from "../../data/api.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatMs } from "../../format.ts";
import { Empty } from "../../kit/feedback.tsx";
import { Section } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { useModelNames } from "../models/api.ts";
import type { ProviderRoute } from "./api.ts";
import { CircuitState, ErrorsLink } from "./describe.tsx";
import { describePause } from "./health.tsx";
import { ResumeButton } from "./resume-button.tsx";

const shownMax = 50;

/** The models of a provider with what happened to their calls at this gateway, those in trouble first. */
export function RoutesPart({ name, routes }: { name: string; routes: readonly ProviderRoute[] }) {
  const mayChange = useMayAdminister();
  return (
    <Section
      title="Models"
      actions={
        <Link className="btn btn-small" href={`/admin/catalogue?search=${encodeURIComponent(name)}`}>
          Prices and routes
        </Link>
      }
    >
      <Table
        rows={routes}
        rowKey={({ model }) => model}
        columns={toColumns(name, mayChange)}
        shownMax={shownMax}
        empty={
          <Empty icon="models" title="It serves no models now">
            <p>Models are served once the provider is enabled and has a key.</p>
          </Empty>
        }
      />
    </Section>
  );
}

function ModelName({ id }: { id: string }) {
  return <span className="break">{useModelNames()(id)}</span>;
}

const toColumns = (plugin: string, mayChange: boolean): readonly Column<ProviderRoute>[] => [
  {
    name: "Model",
    className: "name lead",
    sort: ({ model }) => model,
    cell: ({ model, attempts: { last_error } }) => (
      <>
        <ModelName id={model} />
        {last_error !== null && <span className="sub break">{last_error.reason}</span>}
      </>
    ),
  },
  {
    name: "State",
    cell: ({ state, paused_until: until }) => (
      <>
        <CircuitState state={state} />
        <span className="sub">
          {describePause({ until: until === null ? null : fromSeconds(until), isWaiting: state === "half_open" })}
        </span>
      </>
    ),
  },
  {
    name: "Calls (15 min)",
    className: "end",
    sort: ({ attempts }) => attempts.calls,
    cell: ({ attempts }) => attempts.calls,
  },
  {
    name: "Errors",
    className: "end",
    sort: ({ attempts }) => attempts.errors,
    cell: ({ model, attempts }) => <ErrorsLink of={attempts} plugin={plugin} model={model} />,
  },
  { name: "Time to first token p50", className: "end", cell: ({ attempts }) => formatMs(attempts.p50_ms) },
  { name: "Time to first token p95", className: "end", cell: ({ attempts }) => formatMs(attempts.p95_ms) },
  actionsColumn(({ model, state }) => mayChange && state !== "closed" && <ResumeButton name={plugin} model={model} />),
];
