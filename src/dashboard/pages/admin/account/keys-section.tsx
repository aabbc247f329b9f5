import { type AccountKey, useAccountKeys } from "../../../data/admin.ts";
import { getKeyState, maskKey } from "../../../data/keys.ts";
import { formatAge } from "../../../format.ts";
import { Empty, Loaded } from "../../../ui/feedback.tsx";
import { Section } from "../../../ui/page.tsx";
import { type Column, Table } from "../../../ui/table.tsx";
import { Budget, keyBadges, listLimits, Models } from "../../keys/keys-table.tsx";

/** The API keys of an account, the newest first. */
export function KeysSection({ accountId }: { accountId: string }) {
  const keys = useAccountKeys(accountId);
  return (
    <Section title="API keys">
      <Loaded state={keys}>
        {({ data }) => <Table rows={data.toReversed()} rowKey={({ id }) => id} columns={columns} empty={empty} />}
      </Loaded>
    </Section>
  );
}

const columns: readonly Column<AccountKey>[] = [
  {
    name: "Name",
    className: "name lead",
    cell: ({ id, name, created_by }) => (
      <>
        <strong className="cut" title={name}>
          {name}
        </strong>
        <span className="sub mono">{maskKey(id)}</span>
        {created_by !== null && <span className="sub cut">by {created_by}</span>}
      </>
    ),
  },
  { name: "Status", cell: (key) => <span className={keyBadges[getKeyState(key)]}>{getKeyState(key)}</span> },
  { name: "Models", cell: ({ allowed_models }) => <Models allowed={allowed_models} /> },
  { name: "Budget", cell: (key) => <Budget apiKey={key} /> },
  { name: "Limits", cell: (key) => listLimits(key).join(", ") || <span className="faint">the account's</span> },
  { name: "Last used", cell: ({ last_used_at: at }) => (at === null ? "never" : formatAge(at)) },
];

const empty = (
  <Empty icon="key" title="No API keys">
    <p>Keys that the account creates are listed here, without their secrets.</p>
  </Empty>
);
