import { useSettings } from "../../data/admin.ts";
import { Loaded } from "../../ui/feedback.tsx";
import { PageHead } from "../../ui/page.tsx";
import { Table } from "../../ui/table.tsx";

/** The effective configuration, without secrets. */
export default function ConfigPage() {
  const settings = useSettings();
  return (
    <>
      <PageHead
        title="Configuration"
        description="Read from environment variables at startup. Secrets are shown only as set or not set."
      />
      <section className="card" aria-label="Configuration">
        <Loaded state={settings} lines={10}>
          {({ data, version }) => (
            <>
              <Table columns={["Variable", "Value", "Source"]}>
                {data.map(({ name, value, source }) => (
                  <tr key={name}>
                    <td className="mono lead">{name}</td>
                    <td className="break" data-name="Value">
                      {value}
                    </td>
                    <td data-name="Source">
                      <span className={source === "environment" ? "badge is-accent" : "badge"}>{source}</span>
                    </td>
                  </tr>
                ))}
              </Table>
              <div className="table-foot">modelgate {version}</div>
            </>
          )}
        </Loaded>
      </section>
    </>
  );
}
