import { useState } from "react";
import { Link } from "wouter";
import { formatMs } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Callout, Loaded } from "../../kit/feedback.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { type Column, type FileColumn, Table } from "../../kit/table.tsx";
import { AddProviderDialog } from "./add-provider-dialog.tsx";
import { type Provider, sumAttempts, useProviders } from "./api.ts";
import { ErrorsLink, ProviderStatus, toProviderPath } from "./describe.tsx";
import { describePause, HealthState, Strip, toPause } from "./health.tsx";
import { SandboxSection } from "./sandbox-section.tsx";

export default function ProvidersPage() {
  const providers = useProviders();
  const [isAdding, setAdding] = useState(false);
  return (
    <>
      <PageHead
        title="Providers"
        description="The sources of models: health, keys, order and errors at loading. Changes take effect at once."
      >
        <Button look="primary" icon="plus" disabled={providers.data === undefined} onClick={() => setAdding(true)}>
          Add provider
        </Button>
      </PageHead>
      <div className="stack">
        <Loaded state={providers} lines={8}>
          {({ data, plugins, sandbox }) => (
            <>
              {[...plugins.degraded, ...plugins.warnings].map((sentence) => (
                <Callout key={sentence} tone="warn">
                  {sentence}
                </Callout>
              ))}
              <Section title="Providers">
                <Table
                  rows={sortProviders(data)}
                  rowKey={({ name, origin }) => `${name} ${origin}`}
                  columns={columns}
                  fileName="providers"
                  fileColumns={fileColumns}
                />
              </Section>
              <SandboxSection sandbox={sandbox} />
            </>
          )}
        </Loaded>
      </div>
      {isAdding && providers.data !== undefined && (
        <AddProviderDialog list={providers.data} onClose={() => setAdding(false)} />
      )}
    </>
  );
}

const healthOrder = ["refused", "failing", "degraded"];
const statusOrder = ["refused", "no_models", "previous", "serving", "disabled"];
/** Statuses whose error is shown whole. */
const troubled = ["refused", "no_models", "previous"];

/** Sorts providers with problems first, then providers in use. */
function sortProviders(data: readonly Provider[]): Provider[] {
  const rank = ({ status, health }: Provider) =>
    healthOrder.indexOf(health.state ?? "") + 1 || 10 + (statusOrder.indexOf(status) + 1 || 9);
  return data.toSorted((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
}

const columns: readonly Column<Provider>[] = [
  {
    name: "Provider",
    className: "name lead",
    sort: ({ name }) => name,
    cell: ({ name, base_url, error, status }) => (
      <>
        <Link className="link" href={toProviderPath(name)}>
          {name}
        </Link>
        <span className={troubled.includes(status) ? "sub break" : "sub cut"} title={base_url ?? undefined}>
          {error ?? base_url?.replace(/^https?:\/\//, "")}
        </span>
      </>
    ),
  },
  {
    name: "Health",
    className: "has-text",
    sort: ({ health, status }) => health.state ?? status,
    cell: ({ health, status }) => (
      <>
        {health.state === null ? (
          <ProviderStatus status={status} />
        ) : (
          <HealthState state={health.state} pause={toPause(health)} />
        )}
        {status === "previous" && <ProviderStatus status={status} />}
        {health.state !== null && <span className="sub">{describePause(toPause(health))}</span>}
        <span className="sub break">{describeTrouble(health)}</span>
      </>
    ),
  },
  {
    name: "24 hours",
    className: "wide-only",
    cell: ({ health }) => health.state !== null && <Strip strip={health.strip} />,
  },
  { name: "Calls (15 min)", className: "end", sort: (row) => sumOf(row).calls, cell: (row) => sumOf(row).calls },
  {
    name: "Errors",
    className: "end",
    sort: (row) => sumOf(row).errors,
    cell: (row) => <Errors name={row.name} sum={sumOf(row)} />,
  },
  {
    name: "Time to first token p95",
    className: "end has-long-name roomy-only",
    sort: (row) => sumOf(row).p95_ms,
    cell: (row) => formatMs(sumOf(row).p95_ms),
  },
  {
    name: "Keys",
    className: "end roomy-only",
    sort: ({ keys }) => keys.length,
    cell: ({ keys, credential }) => (credential === "none" ? "not needed" : keys.length),
  },
  {
    name: "Models",
    className: "end",
    sort: ({ served_models, models }) => served_models || models,
    cell: ({ served_models, models }) => served_models || models,
  },
];

const fileColumns: readonly FileColumn<Provider>[] = [
  { name: "Base URL", sort: ({ base_url }) => base_url },
  { name: "Reason", sort: ({ error, health }) => error ?? describeTrouble(health) },
];

/** The last error in the provider's own words while there is trouble. */
function describeTrouble({ state, reason, last_error: error, last_test: test }: Provider["health"]): string | null {
  if (state === null || state === "working" || state === "unknown") return null;
  const isTestLast = test !== null && !test.ok && (error === null || test.at > error.at);
  return (isTestLast ? test.error : error?.message) ?? reason;
}

function Errors({ name, sum }: { name: string; sum: ReturnType<typeof sumOf> }) {
  const share = sum.calls === 0 ? 0 : sum.errors / sum.calls;
  return (
    <span className={share >= 0.05 ? "nowrap tone is-bad" : "nowrap"}>
      <ErrorsLink of={sum} plugin={name} />
    </span>
  );
}

const sumOf = ({ routes }: Provider) => sumAttempts(routes.map(({ attempts }) => attempts));
