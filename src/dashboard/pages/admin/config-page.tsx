import { useSettings } from "../../data/admin.ts";
import { PageHead } from "../../ui/page.tsx";
import { Loaded } from "../../ui/states.tsx";

/** The settings in force. Secrets are not told here or anywhere. */
export default function ConfigPage() {
  const settings = useSettings();
  return (
    <>
      <PageHead
        title="Settings in force"
        about="Set by environment variables when the gateway starts. Of a secret it is told whether there is one."
      />
      <section className="card" aria-label="Settings in force">
        <Loaded state={settings} lines={10}>
          {({ data, version }) => (
            <>
              <div className="table-wrap">
                <table className="table is-cards">
                  <thead>
                    <tr>
                      <th scope="col">Variable</th>
                      <th scope="col">Value</th>
                      <th scope="col">From</th>
                    </tr>
                  </thead>
                  <tbody>
                    {data.map(({ name, value, source }) => (
                      <tr key={name}>
                        <td className="mono lead">{name}</td>
                        <td className="break" data-name="Value">
                          {value}
                        </td>
                        <td data-name="From">
                          <span className={source === "environment" ? "badge is-accent" : "badge"}>{source}</span>
                        </td>
                      </tr>
                    ))}
                  </tbody>
                </table>
              </div>
              <div className="table-foot">modelgate {version}</div>
            </>
          )}
        </Loaded>
      </section>
    </>
  );
}
