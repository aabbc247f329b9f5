import { useState } from "react";
import { formatMs } from "../../format.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Loaded } from "../../kit/feedback.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { AddProviderDialog } from "./add-provider-dialog.tsx";
import { type Provider, type ProviderList, sumAttempts, useProviders } from "./api.ts";
import { describeErrors, ProviderStatus } from "./describe.tsx";
import { ProviderDialog } from "./provider-dialog.tsx";
import { SandboxSection } from "./sandbox-section.tsx";

export default function ProvidersPage() {
  const providers = useProviders();
  const [isAdding, setAdding] = useState(false);
  const [chosen, choose] = useState<string>();
  const provider = providers.data?.data.find(({ name }) => name === chosen);
  return (
    <>
      <PageHead
        title="Providers"
        description="Where models come from: keys, order and health. Changes take effect at once."
      >
        <Button look="primary" icon="plus" disabled={providers.data === undefined} onClick={() => setAdding(true)}>
          Add provider
        </Button>
      </PageHead>
      <div className="stack">
        <Loaded state={providers} lines={8}>
          {(list) => (
            <>
              <Section title="Providers">
                <Table
                  rows={sortProviders(list)}
                  rowKey={({ name, origin }) => `${name} ${origin}`}
                  columns={toColumns(choose)}
                />
              </Section>
              <SandboxSection sandbox={list.sandbox} />
            </>
          )}
        </Loaded>
      </div>
      {isAdding && providers.data !== undefined && (
        <AddProviderDialog list={providers.data} onClose={() => setAdding(false)} />
      )}
      {provider !== undefined && <ProviderDialog provider={provider} onClose={() => choose(undefined)} />}
    </>
  );
}

/** Those in use first. */
function sortProviders({ data }: ProviderList): Provider[] {
  const rank = ({ status }: Provider) => ["refused", "previous", "serving", "disabled"].indexOf(status) + 1 || 9;
  return data.toSorted((one, other) => rank(one) - rank(other) || (one.name < other.name ? -1 : 1));
}

function toColumns(choose: (name: string) => void): readonly Column<Provider>[] {
  return [
    {
      name: "Provider",
      className: "name lead",
      cell: ({ name, base_url, error, status }) => (
        <>
          <LinkButton onClick={() => choose(name)}>{name}</LinkButton>
          <span className="sub break">{status === "refused" ? error : base_url}</span>
        </>
      ),
    },
    { name: "Status", cell: ({ status }) => <ProviderStatus status={status} /> },
    {
      name: "Keys",
      className: "end",
      cell: ({ keys, credential }) => (credential === "none" ? "not needed" : keys.length),
    },
    { name: "Models", className: "end", cell: ({ served_models, models }) => served_models || models },
    { name: "Calls (15 min)", className: "end", cell: (provider) => sumOf(provider).calls },
    { name: "Errors", className: "end", cell: (provider) => describeErrors(sumOf(provider)) },
    { name: "p95", className: "end", cell: (provider) => formatMs(sumOf(provider).p95_ms) },
    { name: "Order", className: "end soft", cell: describeOrder },
    {
      name: "Actions",
      className: "tight actions",
      isUnnamed: true,
      cell: ({ name }) => (
        <Button look="small" aria-label={`Manage ${name}`} onClick={() => choose(name)}>
          Manage
        </Button>
      ),
    },
  ];
}

const sumOf = ({ routes }: Provider) => sumAttempts(routes.map(({ attempts }) => attempts));

function describeOrder({ priority, weight }: Provider): string {
  if (priority === null && weight === null) return "by model";
  return [priority !== null && `priority ${priority}`, weight !== null && `weight ${weight}`]
    .filter(Boolean)
    .join(", ");
}
