import { type ReactNode, useState } from "react";
import { mutate } from "swr";
import { getKeyState, type Key, maskKey, revokeKey } from "../../data/keys.ts";
import { formatAge, formatCount, formatDay, formatMoment, formatUsd } from "../../format.ts";
import { Button } from "../../ui/button.tsx";
import { Confirm } from "../../ui/confirm.tsx";
import { type Column, Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { EditKeyDialog } from "./key-dialogs.tsx";

const keyBadges = { active: "badge is-good", expired: "badge is-warn", revoked: "badge is-bad" };
const never = <span className="faint">never</span>;

interface KeysTableProps {
  keys: readonly Key[];
  /** Whether keys can be edited and revoked here. */
  mayChange: boolean;
  /** The parameter of the address with the chosen order. */
  sortName?: string;
  empty: ReactNode;
}

export function KeysTable({ keys, mayChange, sortName = "sort", empty }: KeysTableProps) {
  const [editing, setEditing] = useState<Key>();
  const [revoking, setRevoking] = useState<Key>();
  const revoke = async (key: Key) => {
    await revokeKey(key.id);
    toast(`“${key.name}” revoked`);
    await mutate("keys");
  };
  return (
    <>
      <Table
        rows={keys}
        rowKey={({ id }) => id}
        columns={mayChange ? [...columns, toActions(setEditing, setRevoking)] : columns}
        sortName={sortName}
        empty={empty}
      />
      {editing !== undefined && <EditKeyDialog apiKey={editing} onClose={() => setEditing(undefined)} />}
      {revoking !== undefined && (
        <Confirm
          title="Revoke this key?"
          action="Revoke key"
          act={() => revoke(revoking)}
          onClose={() => setRevoking(undefined)}
        >
          <p>
            Apps using <strong>{revoking.name}</strong> will be rejected immediately. This cannot be undone. Past usage
            stays on record.
          </p>
        </Confirm>
      )}
    </>
  );
}

const columns: readonly Column<Key>[] = [
  {
    name: "Name",
    className: "name lead",
    sort: ({ name }) => name,
    cell: ({ id, name }) => (
      <>
        <strong className="cut" title={name}>
          {name}
        </strong>
        <span className="sub mono">{maskKey(id)}</span>
      </>
    ),
  },
  { name: "Status", cell: (key) => <span className={keyBadges[getKeyState(key)]}>{getKeyState(key)}</span> },
  { name: "Models", cell: ({ allowed_models }) => <Models allowed={allowed_models} /> },
  {
    name: "Limits",
    cell: (key) => (
      <>
        <Budget apiKey={key} />
        {listLimits(key).map((line) => (
          <span key={line} className="sub">
            {line}
          </span>
        ))}
      </>
    ),
  },
  {
    name: "Last used",
    sort: ({ last_used_at }) => last_used_at,
    cell: ({ last_used_at: at }) => (at === null ? never : formatAge(at)),
  },
  {
    name: "Expires",
    sort: ({ expires_at }) => expires_at,
    cell: ({ expires_at: at }) => (at === null ? never : <span title={formatMoment(at)}>{formatAge(at)}</span>),
  },
  {
    name: "Created",
    className: "tight roomy-only",
    sort: ({ created_at }) => created_at,
    cell: ({ created_at }) => formatDay(created_at),
  },
];

function toActions(onEdit: (key: Key) => void, onRevoke: (key: Key) => void): Column<Key> {
  return {
    name: "Actions",
    className: "actions tight end",
    isUnnamed: true,
    cell: (key) =>
      getKeyState(key) !== "revoked" && (
        <>
          <Button look="plain small" aria-label={`Edit ${key.name}`} onClick={() => onEdit(key)}>
            Edit
          </Button>
          <Button look="plain small bad" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
            Revoke
          </Button>
        </>
      ),
  };
}

function listLimits({ requests_per_minute, tokens_per_minute, concurrent_calls }: Key): string[] {
  const limits = [
    [requests_per_minute, "requests/min"],
    [tokens_per_minute, "tokens/min"],
    [concurrent_calls, "at a time"],
  ] as const;
  return limits.flatMap(([limit, unit]) => (limit === null ? [] : [`${formatCount(limit)} ${unit}`]));
}

function Budget({ apiKey: { budget_usd, budget_used_usd } }: { apiKey: Key }) {
  if (budget_usd === null) return <span className="faint">no budget</span>;
  return (
    <span title={`$${budget_used_usd} of $${budget_usd} this month`}>
      {formatUsd(budget_used_usd ?? "0")} of {formatUsd(budget_usd)}
    </span>
  );
}

function Models({ allowed }: { allowed: Key["allowed_models"] }) {
  if (allowed === null) return <span className="faint">all</span>;
  const [first] = allowed;
  return <span title={allowed.join("\n")}>{allowed.length === 1 ? first : `${allowed.length} models`}</span>;
}
