import { type PluginRow, usePlugins } from "../../data/admin.ts";
import { formatAge } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { PageHead, Section } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";
import { CataloguePart } from "./catalogue-part.tsx";

const statuses: Record<string, readonly [string, string]> = {
  serving: ["serving", "badge is-good"],
  previous: ["serves its last version", "badge is-warn"],
  no_credential: ["no key", "badge"],
  sandbox: ["simulated", "badge is-accent"],
  refused: ["refused", "badge is-bad"],
};

/** The providers of this gateway: which serve, what is wrong with the others, and how each route is. */
export default function PluginsPage() {
  const plugins = usePlugins();
  return (
    <>
      <PageHead title="Plugins and catalogue" about="Who answers calls here, and for which models." />
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
        <CataloguePart />
      </div>
    </>
  );
}

function PluginsTable({ plugins }: { plugins: readonly PluginRow[] }) {
  return (
    <div className="table-wrap">
      <table className="table is-cards">
        <thead>
          <tr>
            <th scope="col">Plugin</th>
            <th scope="col">State</th>
            <th scope="col" className="end">
              Models
            </th>
            <th scope="col" className="end">
              Routes
            </th>
            <th scope="col" className="end">
              Keys
            </th>
            <th scope="col">Version</th>
            <th scope="col">Loaded</th>
          </tr>
        </thead>
        <tbody>
          {plugins.map((plugin) => {
            const [words, badge] = statuses[plugin.status] ?? [plugin.status, "badge"];
            return (
              <tr key={`${plugin.name} ${plugin.origin}`}>
                <td className="name lead">
                  <span>{plugin.name}</span>
                  <span className="sub break">{plugin.error ?? plugin.origin}</span>
                </td>
                <td data-name="State">
                  <span className={badge}>{words}</span>
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
        </tbody>
      </table>
    </div>
  );
}
