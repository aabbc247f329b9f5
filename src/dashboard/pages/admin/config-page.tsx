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
              <Table
                rows={data}
                rowKey={({ name }) => name}
                columns={[
                  { name: "Variable", className: "mono lead", cell: ({ name }) => name },
                  { name: "Value", className: "break", cell: ({ value }) => value },
                  {
                    name: "Source",
                    cell: ({ source }) => (
                      <span className={source === "environment" ? "badge is-accent" : "badge"}>{source}</span>
                    ),
                  },
                ]}
              />
              <div className="table-foot">modelgate {version}</div>
            </>
          )}
        </Loaded>
      </section>
    </>
  );
}
