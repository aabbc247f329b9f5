import { formatCount } from "../../format.ts";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Age } from "../../kit/page.tsx";
import { type Column, figureColumn, Table } from "../../kit/table.tsx";
import type { Key } from "./api.ts";
import { type Caller, useCallers } from "./leaked-api.ts";

/** From where a key is used, with what is new about it. */
export function CallersDialog({
  account,
  apiKey,
  onClose,
}: {
  account: string | undefined;
  apiKey: Pick<Key, "id" | "name">;
  onClose: () => void;
}) {
  const callers = useCallers(account, apiKey.id);
  return (
    <Dialog
      title={`Callers of ${apiKey.name}`}
      description="Networks and programs that used this key in the last 30 days."
      isWide
      onClose={onClose}
    >
      <DialogContent label="Close" onClose={onClose}>
        <Loaded state={callers}>{(rows) => <CallersTable callers={rows} />}</Loaded>
      </DialogContent>
    </Dialog>
  );
}

export function CallersTable({ callers }: { callers: readonly Caller[] }) {
  return (
    <Table
      rows={callers}
      rowKey={({ network, program }) => `${network} ${program}`}
      columns={columns}
      sortName="sort-callers"
      empty={
        <Empty icon="key" title="No callers recorded">
          <p>Nobody used the key in the last 30 days, or the operator has turned the record off.</p>
        </Empty>
      }
    />
  );
}

const columns: readonly Column<Caller>[] = [
  {
    name: "Network",
    className: "lead",
    sort: ({ network }) => network,
    cell: ({ network, is_new }) => (
      <span className="badges">
        <span className="mono">{network === "*" ? "others" : network}</span>
        {is_new && <span className="badge is-warn">new</span>}
      </span>
    ),
  },
  {
    name: "Program",
    sort: ({ program }) => program,
    cell: ({ program }) =>
      program === "" ? <span className="faint">no name</span> : program === "*" ? "others" : program,
  },
  figureColumn("Requests", ({ requests }) => requests, formatCount),
  {
    name: "First seen",
    sort: ({ first_seen_at }) => first_seen_at,
    cell: ({ first_seen_at }) => <Age at={first_seen_at} />,
  },
  {
    name: "Last seen",
    sort: ({ last_seen_at }) => last_seen_at,
    cell: ({ last_seen_at }) => <Age at={last_seen_at} />,
  },
];
