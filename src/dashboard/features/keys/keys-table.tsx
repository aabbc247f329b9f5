import { type ComponentType, type ReactNode, useState } from "react";
import { useMe } from "../../data/session.ts";
import { formatAge, formatCount, formatDay, formatExactUsd, formatMoment, formatUsd } from "../../format.ts";
import { Button, LinkButton } from "../../kit/button.tsx";
import { Confirm } from "../../kit/confirm.tsx";
import type { Places } from "../../kit/modules.tsx";
import { Age } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { useModelNames } from "../models/api.ts";
import { getKeyState, type Key, maskKey, revokeKey } from "./api.ts";
import { CallersDialog } from "./callers.tsx";
import { EditKeyDialog, RotateKeyDialog } from "./key-dialogs.tsx";

export const keyBadges = { active: "badge is-good", expired: "badge is-warn", revoked: "badge is-bad" };
const never = <span className="faint">never</span>;

interface KeysTableProps<Row extends Key> {
  keys: readonly Row[];
  /**
   * Returns the account of a key, for administrators, who may change any key; absent: all keys belong to the user's
   * account.
   */
  accountOf?: (key: Row) => string;
  /** Columns after the name. */
  more?: readonly Column<Row>[];
  /** Whether keys can be edited and revoked here. */
  mayChange: boolean;
  /** The parameter of the address with the chosen order. */
  sortName?: string;
  /** Parts of modules next to the state of a key. */
  badges?: readonly ComponentType<Places["key-badges"]>[];
  empty: ReactNode;
}

export function KeysTable<Row extends Key>({
  keys,
  accountOf,
  more = [],
  mayChange,
  sortName = "sort",
  badges = [],
  empty,
}: KeysTableProps<Row>) {
  const mayChangeKey = useMayChangeKey();
  const [editing, setEditing] = useState<Key>();
  const [revoking, setRevoking] = useState<Key>();
  const [rotating, setRotating] = useState<Key>();
  const [used, setUsed] = useState<Key>();
  const toAccount = (key: Key) => accountOf?.(key as Row);
  const revoke = async (key: Key) => {
    await revokeKey(toAccount(key), key.id);
    toast(`“${key.name}” revoked`);
  };
  return (
    <>
      <Table
        rows={keys as readonly Key[]}
        fileName={accountOf === undefined ? "api-keys" : undefined}
        rowKey={({ id }) => id}
        columns={[
          ...withMore(withCallers(toColumns(badges), setUsed), more as readonly Column<Key>[]),
          ...(mayChange
            ? [
                toActions(
                  { onEdit: setEditing, onRotate: setRotating, onRevoke: setRevoking },
                  accountOf === undefined ? mayChangeKey : () => true,
                ),
              ]
            : []),
        ]}
        sortName={sortName}
        empty={empty}
      />
      {editing !== undefined && (
        <EditKeyDialog account={toAccount(editing)} apiKey={editing} onClose={() => setEditing(undefined)} />
      )}
      {rotating !== undefined && (
        <RotateKeyDialog account={toAccount(rotating)} apiKey={rotating} onClose={() => setRotating(undefined)} />
      )}
      {used !== undefined && (
        <CallersDialog account={toAccount(used)} apiKey={used} onClose={() => setUsed(undefined)} />
      )}
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

/** The time of the last use opens from where the key was used. */
function withCallers(columns: readonly Column<Key>[], onOpen: (key: Key) => void): readonly Column<Key>[] {
  const cell = (key: Key) =>
    key.last_used_at === null ? (
      never
    ) : (
      <LinkButton aria-label={`${formatAge(key.last_used_at)}: callers of ${key.name}`} onClick={() => onOpen(key)}>
        <Age at={key.last_used_at} />
      </LinkButton>
    );
  return columns.map((column) => (column.name === "Last used" ? { ...column, cell } : column));
}

/** Members of a team change only the keys that they created. */
function useMayChangeKey(): (key: Key) => boolean {
  const { data: me } = useMe();
  return ({ created_by }) => me !== undefined && (me.team_role === "admin" || created_by === me.email);
}

/**
 * Puts further columns in place of the columns that matter least for another user's key. The end of a key moves below
 * its status.
 */
function withMore(columns: readonly Column<Key>[], more: readonly Column<Key>[]): readonly Column<Key>[] {
  if (more.length === 0) return columns;
  return columns
    .filter(({ name }) => name !== "Models" && name !== "Created" && name !== "Expires")
    .map((column) => (column.name === "Status" ? { ...column, cell: toStatusAndEnd } : column))
    .toSpliced(1, 0, ...more);
}

function toStatusAndEnd(key: Key) {
  const state = getKeyState(key);
  return (
    <>
      <span className={keyBadges[state]}>{state}</span>
      {key.expires_at !== null && state === "active" && (
        <span className="sub" title={formatMoment(key.expires_at)}>
          expires {formatAge(key.expires_at)}
        </span>
      )}
    </>
  );
}

function toColumns(badges: readonly ComponentType<Places["key-badges"]>[]): readonly Column<Key>[] {
  if (badges.length === 0) return columns;
  const status = (key: Key) => (
    <span className="badges">
      <span className={keyBadges[getKeyState(key)]}>{getKeyState(key)}</span>
      {badges.map((Part) => (
        <Part key={Part.name} keyId={key.id} />
      ))}
    </span>
  );
  return columns.map((column) => (column.name === "Status" ? { ...column, cell: status } : column));
}

/** Columns for when a key was last used, when it ends, when it was created, and its creator. */
export const keyTimes: readonly Column<
  Pick<Key, "last_used_at" | "expires_at" | "created_at"> & { created_by: string | null }
>[] = [
  {
    name: "Last used",
    sort: ({ last_used_at }) => last_used_at,
    cell: ({ last_used_at: at }) => (at === null ? never : <Age at={at} />),
  },
  {
    name: "Expires",
    sort: ({ expires_at }) => expires_at,
    cell: ({ expires_at: at }) => (at === null ? never : <Age at={at} />),
  },
  {
    name: "Created",
    className: "tight roomy-only",
    sort: ({ created_at }) => created_at,
    cell: ({ created_at, created_by }) => (
      <>
        {formatDay(created_at)}
        {created_by !== null && <span className="sub cut">by {created_by}</span>}
      </>
    ),
  },
];

const columns: readonly Column<Key>[] = [
  {
    name: "Name",
    className: "name lead",
    sort: ({ name }) => name,
    cell: ({ id, name, token }) => (
      <>
        <strong className="cut" title={name}>
          {name}
        </strong>
        {token === null ? (
          <span className="sub mono">{maskKey(id)}</span>
        ) : (
          <span className="sub cut" title={`${token.subject} of ${token.issuer}`}>
            tokens of {token.subject}
          </span>
        )}
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
        {key.allowed_networks !== null && <span className="sub">from {key.allowed_networks.join(", ")}</span>}
        {key.cache_marks === "off" && <span className="sub">no marks for prompt caches</span>}
        {listLimits(key).map((line) => (
          <span key={line} className="sub">
            {line}
          </span>
        ))}
      </>
    ),
  },
  ...keyTimes,
];

function toActions(
  { onEdit, onRotate, onRevoke }: Record<"onEdit" | "onRotate" | "onRevoke", (key: Key) => void>,
  mayChange: (key: Key) => boolean,
): Column<Key> {
  return actionsColumn(
    (key) =>
      mayChange(key) &&
      getKeyState(key) !== "revoked" && (
        <>
          <Button look="plain small" aria-label={`Edit ${key.name}`} onClick={() => onEdit(key)}>
            Edit
          </Button>
          {getKeyState(key) === "active" && key.token === null && (
            <Button look="plain small" aria-label={`Rotate ${key.name}`} onClick={() => onRotate(key)}>
              Rotate
            </Button>
          )}
          <Button look="plain small bad" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
            Revoke
          </Button>
        </>
      ),
  );
}

function listLimits({ requests_per_minute, tokens_per_minute, concurrent_calls }: Key): string[] {
  const limits = [
    [requests_per_minute, "requests/min"],
    [tokens_per_minute, "tokens/min"],
    [concurrent_calls, "at a time"],
  ] as const;
  return limits.flatMap(([limit, unit]) => (limit === null ? [] : [`${formatCount(limit)} ${unit}`]));
}

function Budget({ apiKey: { budget_usd, budget_used_usd, budget_period } }: { apiKey: Key }) {
  if (budget_usd === null) return <span className="faint">no budget</span>;
  return (
    <span title={`${formatExactUsd(budget_used_usd ?? "0")} of ${formatExactUsd(budget_usd)} this ${budget_period}`}>
      {formatUsd(budget_used_usd ?? "0")} of {formatUsd(budget_usd)} this {budget_period}
    </span>
  );
}

function Models({ allowed }: { allowed: Key["allowed_models"] }) {
  const nameOf = useModelNames();
  if (allowed === null) return <span className="faint">all</span>;
  const names = allowed.map(nameOf);
  return <span title={names.join("\n")}>{names.length === 1 ? names[0] : `${names.length} models`}</span>;
}
