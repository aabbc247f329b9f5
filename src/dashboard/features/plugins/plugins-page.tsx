import { type PluginRow, usePlugins } from "../../data/admin.ts";
import { formatAge } from "../../format.ts";
import { Callout, Loaded } from "../../kit/feedback.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { ProviderStatus } from "../providers/describe.tsx";

export default function PluginsPage() {
  const plugins = usePlugins();
  return (
    <>
      <PageHead title="Plugins" description="Providers of this gateway, and what could not be loaded of them." />
      <div className="stack">
        <Loaded state={plugins} lines={6}>
          {({ data, warnings, degraded }) => (
            <>
              {[...degraded, ...withoutRows(warnings, data)].map((sentence) => (
                <Callout key={sentence} tone="warn">
                  {sentence}
                </Callout>
              ))}
              <Section title="Plugins">
                <Table rows={data} rowKey={({ name, origin }) => `${name} ${origin}`} columns={columns} />
              </Section>
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

const columns: readonly Column<PluginRow>[] = [
  {
    name: "Plugin",
    className: "name lead",
    cell: ({ name, error, origin }) => (
      <>
        <span>{name}</span>
        <span className="sub break">{error ?? origin}</span>
      </>
    ),
  },
  { name: "Status", cell: ({ status }) => <ProviderStatus status={status} /> },
  { name: "Models", className: "end", cell: ({ models }) => models },
  { name: "Routes", className: "end", cell: ({ routes }) => routes },
  { name: "Keys", className: "end", cell: ({ keys }) => keys },
  { name: "Version", cell: ({ version }) => <span className="mono">{version ?? "–"}</span> },
  { name: "Loaded", cell: ({ loaded_at }) => formatAge(loaded_at) },
];

/** Warnings that no row tells. */
function withoutRows(warnings: readonly string[], rows: readonly PluginRow[]): string[] {
  return warnings.filter((warning) => rows.every(({ error }) => error !== warning));
}
