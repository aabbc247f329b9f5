import { type PluginRow, usePlugins } from "../../data/admin.ts";
import { formatAge } from "../../format.ts";
import { Callout, Loaded } from "../../ui/feedback.tsx";
import { PageHead, Section } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";
import { CatalogueSection } from "./catalogue-section.tsx";

const statuses: Record<string, readonly [string, string]> = {
  serving: ["serving", "badge is-good"],
  previous: ["serving last good version", "badge is-warn"],
  no_credential: ["no API key", "badge"],
  sandbox: ["simulated", "badge is-accent"],
  refused: ["refused", "badge is-bad"],
};

/** The status of every plugin and route. */
export default function PluginsPage() {
  const plugins = usePlugins();
  return (
    <>
      <PageHead
        title="Plugins and catalogue"
        description="Providers of this gateway, the models they serve and the state of each route."
      />
      <div className="stack">
        <Loaded state={plugins} lines={6}>
          {({ data, warnings, degraded }) => (
            <>
              {[...degraded, ...warnings].map((sentence) => (
                <Callout key={sentence} tone="warn">
                  {sentence}
                </Callout>
              ))}
              <Section title="Plugins">
                <PluginsTable plugins={data} />
              </Section>
            </>
          )}
        </Loaded>
        <CatalogueSection />
      </div>
    </>
  );
}

function PluginsTable({ plugins }: { plugins: readonly PluginRow[] }) {
  return (
    <Table columns={["Plugin", "Status", ["Models", "end"], ["Routes", "end"], ["Keys", "end"], "Version", "Loaded"]}>
      {plugins.map((plugin) => {
        const [label, badge] = statuses[plugin.status] ?? [plugin.status, "badge"];
        return (
          <tr key={`${plugin.name} ${plugin.origin}`}>
            <td className="name lead">
              <span>{plugin.name}</span>
              <span className="sub break">{plugin.error ?? plugin.origin}</span>
            </td>
            <td data-name="Status">
              <span className={badge}>{label}</span>
            </td>
            <td className="end" data-name="Models">
              {plugin.models}
            </td>
            <td className="end" data-name="Routes">
              {plugin.routes}
            </td>
            <td className="end" data-name="Keys">
              {plugin.keys}
            </td>
            <td className="mono" data-name="Version">
              {plugin.version ?? "–"}
            </td>
            <td data-name="Loaded">{formatAge(plugin.loaded_at)}</td>
          </tr>
        );
      })}
    </Table>
  );
}
