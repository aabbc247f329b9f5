import { useState } from "react";
import { mutate } from "swr";
import { useMayChange } from "../../data/roles.ts";
import { Button } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Check } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { PageHead } from "../../kit/page.tsx";
import { actionsColumn, type Column, type FileColumn, Table } from "../../kit/table.tsx";
import { toast } from "../../kit/toast.tsx";
import { getKeyState } from "../keys/api.ts";
import { keyBadges, keyTimes } from "../keys/keys-table.tsx";
import { type AdminKey, revokeAdminKey, useAdminKeys } from "./api.ts";
import { NewAdminKeyDialog } from "./new-admin-key-dialog.tsx";

export default function AdminKeysPage() {
  const keys = useAdminKeys();
  const mayChange = useMayChange();
  const [isCreating, setCreating] = useState(false);
  const [revoking, setRevoking] = useState<AdminKey>();
  const createButton = mayChange && (
    <Button look="primary" icon="plus" onClick={() => setCreating(true)}>
      Create admin key
    </Button>
  );
  return (
    <>
      <PageHead
        title="Admin keys"
        description="Programs use these keys to manage the gateway through /v1/organization. They cannot call models."
      >
        {createButton}
      </PageHead>
      <section className="card" aria-label="Admin keys">
        <Loaded state={keys} lines={4}>
          {(rows) => (
            <Table
              rows={rows.toReversed()}
              rowKey={({ id }) => id}
              fileName="admin-keys"
              fileColumns={fileColumns}
              columns={mayChange ? [...columns, toActions(setRevoking)] : columns}
              empty={
                <Empty icon="key" title="No admin keys yet">
                  <p>Create one for scripts, CI or infrastructure as code. OpenAI's admin client works with it.</p>
                </Empty>
              }
            />
          )}
        </Loaded>
      </section>
      {isCreating && <NewAdminKeyDialog onClose={() => setCreating(false)} />}
      {revoking !== undefined && <RevokeDialog adminKey={revoking} onClose={() => setRevoking(undefined)} />}
    </>
  );
}

/** Asks whether the API keys whose secrets the admin key was given end too. */
function RevokeDialog({ adminKey: { id, name }, onClose }: { adminKey: AdminKey; onClose: () => void }) {
  const form = useForm({ revokes: false }, async ({ revokes }) => {
    const { admin_keys: ended, api_keys: apiKeys } = await revokeAdminKey(id, revokes);
    toast(
      [
        `“${name}” revoked`,
        ended > 1 && `with ${toCount(ended - 1, "admin key")} that it created`,
        apiKeys.length > 0 &&
          `${toCount(apiKeys.length, "API key")} that it created or rotated ${revokes ? "revoked" : "still active"}`,
      ]
        .filter((part) => part !== false)
        .join("; "),
    );
    await mutate("admin-keys");
    onClose();
  });
  return (
    <FormDialog title="Revoke this key?" form={form} label="Revoke key" busyLabel="Revoking…" onClose={onClose}>
      <p className="soft break">
        Programs using <strong>{name}</strong>, or an admin key that it created, will be rejected immediately. Its open
        invitations stop working. This cannot be undone.
      </p>
      <Check checked={form.values.revokes} onCheck={(isChecked) => form.set({ revokes: isChecked })}>
        Also revoke the API keys that it created or rotated, for example after a leak
      </Check>
    </FormDialog>
  );
}

function toCount(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? "" : "s"}`;
}

const columns: readonly Column<AdminKey>[] = [
  {
    name: "Name",
    className: "name lead",
    sort: ({ name }) => name,
    cell: ({ id, name }) => (
      <>
        <strong className="cut" title={name}>
          {name}
        </strong>
        <span className="sub mono">sk-mg-admin-{id}-…</span>
      </>
    ),
  },
  {
    name: "Status",
    sort: getKeyState,
    cell: (key) => <span className={keyBadges[getKeyState(key)]}>{getKeyState(key)}</span>,
  },
  {
    name: "Scopes",
    className: "break",
    sort: ({ scopes }) => scopes.join(", "),
    cell: ({ scopes, allowed_networks }) => (
      <>
        {scopes.join(", ")}
        {allowed_networks !== null && <span className="sub">from {allowed_networks.join(", ")}</span>}
      </>
    ),
  },
  ...keyTimes,
];

const fileColumns: readonly FileColumn<AdminKey>[] = [
  { name: "ID", sort: ({ id }) => id },
  { name: "Networks", sort: ({ allowed_networks: networks }) => networks?.join(", ") },
  { name: "Created by", sort: ({ created_by }) => created_by },
];

function toActions(onRevoke: (key: AdminKey) => void): Column<AdminKey> {
  return actionsColumn(
    (key) =>
      getKeyState(key) !== "revoked" && (
        <Button look="plain small bad" aria-label={`Revoke ${key.name}`} onClick={() => onRevoke(key)}>
          Revoke
        </Button>
      ),
  );
}
