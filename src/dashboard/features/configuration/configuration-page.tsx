import { useState } from "react";
import { Link } from "wouter";
import documentation from "../../../../docs/configuration.md" with { type: "text" };
import { useSettings } from "../../data/admin.ts";
import { useMayAdminister } from "../../data/roles.ts";
import { formatCount } from "../../format.ts";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { SearchField } from "../../kit/field.tsx";
import { PageHead } from "../../kit/page.tsx";
import { type Column, Table } from "../../kit/table.tsx";
import { useParam } from "../../kit/url-state.ts";
import { changelog } from "../help/pages.ts";
import { MailSection } from "../mail/mail-section.tsx";
import { ResourceSections } from "../resources/section.tsx";
import { readSettingDocs } from "./setting-docs.ts";
import { TokenIssuersSection } from "./token-issuers.tsx";

const docs = readSettingDocs(documentation);
const otherGroup = "Providers";

type Setting = NonNullable<ReturnType<typeof useSettings>["data"]>["data"][number];

/** The effective configuration, without secrets, in the groups and with the descriptions of its documentation. */
export default function ConfigPage() {
  const settings = useSettings();
  const mayManage = useMayAdminister();
  const [search, setSearch] = useParam("search");
  const [isRoomy] = useState(() => matchMedia("(min-width: 821px)").matches);
  return (
    <>
      <PageHead
        title="Configuration"
        description="Read from environment variables at startup. Secrets are shown only as set or not set."
      >
        <SearchField label="Search settings" placeholder="Search settings" value={search} onText={setSearch} />
      </PageHead>
      <Loaded state={settings} lines={10}>
        {({ data, version }) => (
          <div className="stack">
            {search === "" && (
              <>
                <MailSection />
                <TokenIssuersSection />
                <ResourceSections page="configuration" mayManage={mayManage} />
              </>
            )}
            <Groups settings={data.filter((setting) => matches(setting, search))} isOpen={isRoomy || search !== ""} />
            <p className="faint">
              modelgate {version} · <Link href={`/help/${changelog}`}>What's new</Link>
            </p>
          </div>
        )}
      </Loaded>
    </>
  );
}

function Groups({ settings, isOpen }: { settings: readonly Setting[]; isOpen: boolean }) {
  if (settings.length === 0) {
    return (
      <div className="card">
        <Empty icon="search" title="No settings match">
          <p>Try another search.</p>
        </Empty>
      </div>
    );
  }
  const documented = [...docs.keys()];
  const sorted = settings.toSorted((one, other) => documented.indexOf(one.name) - documented.indexOf(other.name));
  const groups = Map.groupBy(sorted, ({ name }) => docs.get(name)?.group ?? otherGroup);
  return [...groups].map(([group, rows]) => (
    <details key={group} className="card fold" open={isOpen}>
      <summary className="card-head">
        <h2>{group}</h2>
        <span className="faint">{describeCount(rows)}</span>
      </summary>
      <Table rows={rows} rowKey={({ name }) => name} columns={columns} />
    </details>
  ));
}

function describeCount(settings: readonly Setting[]): string {
  const set = settings.filter(({ source }) => source === "environment").length;
  return `${settings.length === 1 ? "1 setting" : `${settings.length} settings`}${set === 0 ? "" : `, ${set} set`}`;
}

const columns: readonly Column<Setting>[] = [
  {
    name: "Variable",
    className: "lead",
    cell: ({ name }) => (
      <>
        <span className="mono break">{name}</span>
        <span className="sub">{docs.get(name)?.description}</span>
      </>
    ),
  },
  { name: "Value", className: "break", cell: ({ value }) => formatValue(value) },
  {
    name: "Source",
    className: "tight",
    cell: ({ source }) => <span className={source === "environment" ? "badge is-accent" : "badge"}>{source}</span>,
  },
];

function matches({ name }: Setting, search: string): boolean {
  const query = search.trim().toLowerCase();
  return `${name} ${docs.get(name)?.description ?? ""}`.toLowerCase().includes(query);
}

/** Groups the digits of a number, such as 250,000. */
function formatValue(value: string): string {
  return /^\d{6,15}$/.test(value) ? formatCount(Number(value)) : value;
}
