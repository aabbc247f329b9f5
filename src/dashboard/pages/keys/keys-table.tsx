import { useState } from "react";
import { mutate } from "swr";
import { getKeyState, type Key, maskKey, revokeKey } from "../../data/keys.ts";
import { formatAge, formatDay, formatMoment, formatUsd } from "../../format.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { Table } from "../../ui/table.tsx";
import { toast } from "../../ui/toast.tsx";
import { EditKeyDialog } from "./edit-key-dialog.tsx";

export function KeysTable({ keys }: { keys: readonly Key[] }) {
  const [editing, setEditing] = useState<Key>();
  const [revoking, setRevoking] = useState<Key>();
  const revoke = async (key: Key) => {
    await revokeKey(key.id);
    toast(`“${key.name}” revoked`);
    await mutate("keys");
  };
  return (
    <>
      <Table columns={["Name", "Status", "Models", "Budget", "Last used", "Expires", "Created", ["Actions", "unseen"]]}>
        {keys.map((key) => (
          <Row key={key.id} of={key} onEdit={() => setEditing(key)} onRevoke={() => setRevoking(key)} />
        ))}
      </Table>
      {editing !== undefined && <EditKeyDialog of={editing} onClose={() => setEditing(undefined)} />}
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

function Row({ of: key, onEdit, onRevoke }: { of: Key; onEdit: () => void; onRevoke: () => void }) {
  const state = getKeyState(key);
  const tone = state === "active" ? "is-good" : state === "expired" ? "is-warn" : "is-bad";
  return (
    <tr>
      <td className="name lead">
        <strong className="cut" title={key.name}>
          {key.name}
        </strong>
        <span className="sub mono">{maskKey(key.id)}</span>
      </td>
      <td data-name="Status">
        <span className={`badge ${tone}`}>{state}</span>
      </td>
      <td data-name="Models">
        <Models allowed={key.allowed_models} />
      </td>
      <td data-name="Budget">
        <Budget of={key} />
      </td>
      <td data-name="Last used">
        {key.last_used_at === null ? <span className="faint">never</span> : formatAge(key.last_used_at)}
      </td>
      <td data-name="Expires">
        {key.expires_at === null ? (
          <span className="faint">never</span>
        ) : (
          <span title={formatMoment(key.expires_at)}>{formatAge(key.expires_at)}</span>
        )}
      </td>
      <td data-name="Created">{formatDay(key.created_at)}</td>
      <td className="actions tight end">
        {state !== "revoked" && (
          <>
            <button type="button" className="btn btn-plain btn-small" aria-label={`Edit ${key.name}`} onClick={onEdit}>
              Edit
            </button>
            <button
              type="button"
              className="btn btn-plain btn-small is-bad"
              aria-label={`Revoke ${key.name}`}
              onClick={onRevoke}
            >
              Revoke
            </button>
          </>
        )}
      </td>
    </tr>
  );
}

function Budget({ of: { budget_usd, budget_used_usd } }: { of: Key }) {
  if (budget_usd === null) return <span className="faint">no limit</span>;
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
