import { useState } from "react";
import { mutate } from "swr";
import { type Key, revokeKey, shownKey, stateOf } from "../../data/keys.ts";
import { formatAge, formatDay, formatMoment, formatUsd } from "../../format.ts";
import { Confirm } from "../../ui/confirm.tsx";
import { toast } from "../../ui/toast.tsx";
import { EditKeyDialog } from "./edit-key-dialog.tsx";

/** One line a key, the newest first. */
export function KeysTable({ keys }: { keys: readonly Key[] }) {
  const [editing, setEditing] = useState<Key>();
  const [ending, setEnding] = useState<Key>();
  const revoke = async (key: Key) => {
    await revokeKey(key.id);
    toast(`“${key.name}” is revoked`);
    await mutate("keys");
  };
  return (
    <>
      <div className="table-wrap">
        <table className="table is-cards">
          <thead>
            <tr>
              <th scope="col">Name</th>
              <th scope="col">State</th>
              <th scope="col">Models</th>
              <th scope="col">Budget</th>
              <th scope="col">Last used</th>
              <th scope="col">Expires</th>
              <th scope="col">Made</th>
              <th scope="col">
                <span className="unseen">Actions</span>
              </th>
            </tr>
          </thead>
          <tbody>
            {keys.map((key) => (
              <Row key={key.id} of={key} onEdit={() => setEditing(key)} onRevoke={() => setEnding(key)} />
            ))}
          </tbody>
        </table>
      </div>
      {editing !== undefined && <EditKeyDialog of={editing} onClose={() => setEditing(undefined)} />}
      {ending !== undefined && (
        <Confirm
          title="Revoke this key?"
          action="Revoke key"
          act={() => revoke(ending)}
          onClose={() => setEnding(undefined)}
        >
          <p>
            Programs that use <strong>{ending.name}</strong> are refused from now on. This cannot be undone; what the
            key has used stays in the books.
          </p>
        </Confirm>
      )}
    </>
  );
}

function Row({ of: key, onEdit, onRevoke }: { of: Key; onEdit: () => void; onRevoke: () => void }) {
  const state = stateOf(key);
  const tone = state === "active" ? "is-good" : state === "expired" ? "is-warn" : "is-bad";
  return (
    <tr>
      <td className="name lead">
        <strong className="cut" title={key.name}>
          {key.name}
        </strong>
        <span className="sub mono">{shownKey(key.id)}</span>
      </td>
      <td data-name="State">
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
      <td data-name="Made">{formatDay(key.created_at)}</td>
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
  if (budget_usd === null) return <span className="faint">none</span>;
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
