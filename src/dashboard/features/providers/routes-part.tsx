import { formatMs } from "../../format.ts";
import { type Column, Table } from "../../kit/table.tsx";
import type { ProviderRoute } from "./api.ts";
import { CircuitState, describeErrors } from "./describe.tsx";

const shownMax = 20;

/** The models of a provider with what happened to their calls, those in trouble first. */
export function RoutesPart({ routes }: { routes: readonly ProviderRoute[] }) {
  if (routes.length === 0) return null;
  return (
    <section className="stack stack-tight" aria-label="Routes">
      <h3>Routes</h3>
      <p className="soft">
        Calls of the last 15 minutes at this gateway
        {routes.length > shownMax && `; ${shownMax} of ${routes.length} models`}.
      </p>
      <Table rows={routes.slice(0, shownMax)} rowKey={({ model }) => model} columns={columns} />
    </section>
  );
}

const columns: readonly Column<ProviderRoute>[] = [
  {
    name: "Model",
    className: "name lead",
    cell: ({ model, attempts: { last_error } }) => (
      <>
        <span className="break">{model}</span>
        {last_error !== null && <span className="sub break">{last_error.reason}</span>}
      </>
    ),
  },
  { name: "State", cell: ({ state }) => <CircuitState state={state} /> },
  { name: "Calls", className: "end", cell: ({ attempts }) => attempts.calls },
  { name: "Errors", className: "end", cell: ({ attempts }) => describeErrors(attempts) },
  { name: "p50", className: "end", cell: ({ attempts }) => formatMs(attempts.p50_ms) },
  { name: "p95", className: "end", cell: ({ attempts }) => formatMs(attempts.p95_ms) },
];
