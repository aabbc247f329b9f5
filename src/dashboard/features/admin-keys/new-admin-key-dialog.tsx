import { useState } from "react";
import { mutate } from "swr";
import { useMe } from "../../data/session.ts";
import { Secret } from "../../kit/copy.tsx";
import { Dialog, DialogContent } from "../../kit/dialog.tsx";
import { Callout } from "../../kit/feedback.tsx";
import { SelectField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { splitNetworks } from "../keys/key-fields.tsx";
import { areas, createAdminKey } from "./api.ts";

type Access = "none" | "read" | "write";

const newKey = {
  name: "",
  expires_at: "",
  allowed_networks: "",
  scopes: { accounts: "none", keys: "none", usage: "read", audit: "none" } as Readonly<Record<string, Access>>,
};

/** Creates an admin key, then shows its secret once. */
export function NewAdminKeyDialog({ onClose }: { onClose: () => void }) {
  const { data: me } = useMe();
  const [secret, setSecret] = useState<string>();
  const form = useForm(newKey, async ({ name, expires_at: day, allowed_networks, scopes }) => {
    const networks = splitNetworks(allowed_networks);
    const grants = Object.entries(scopes).filter(([, access]) => access !== "none");
    const key = await createAdminKey({
      name: name.trim(),
      scopes: grants.map(([area, access]) => `${area}:${access}`),
      // Inclusive: until the end of that day.
      ...(day !== "" && { expires_at: `${day}T23:59:59Z` }),
      ...(networks !== undefined && { allowed_networks: networks }),
    });
    setSecret(key);
    await mutate("admin-keys");
  });
  if (secret !== undefined) return <AdminKeyCreated secret={secret} onClose={onClose} />;
  const { scopes } = form.values;
  return (
    <FormDialog
      title="Create admin key"
      description="Select only the scopes that its program needs. The key never has more rights than you."
      form={form}
      label="Create key"
      busyLabel="Creating…"
      isComplete={form.values.name.trim() !== "" && Object.values(scopes).some((access) => access !== "none")}
      onClose={onClose}
    >
      <TextField label="Name" placeholder="e.g. terraform, billing export" autoFocus {...form.field("name")} />
      {areas.map(({ name, label, isOwners }) => (
        <SelectField
          key={name}
          label={label}
          options={[
            ["none", "No access"],
            ["read", "Read"],
            ...(me?.role === "owner" || !isOwners ? [["write", "Read and write"] as const] : []),
          ]}
          value={scopes[name] ?? "none"}
          onText={(access) => form.set({ scopes: { ...scopes, [name]: access as Access } })}
        />
      ))}
      <TextField
        label="Allowed networks"
        placeholder="Any"
        {...form.field("allowed_networks")}
        hint="Addresses and ranges, separated by commas"
      />
      <TextField
        label="Valid through (UTC)"
        type="date"
        {...form.field("expires_at")}
        hint="Leave empty for no expiry"
      />
    </FormDialog>
  );
}

function AdminKeyCreated({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog title="Admin key created" isPersistent onClose={onClose}>
      <DialogContent label="I've saved it" onClose={onClose}>
        <Callout tone="warn">
          Copy the key now and store it safely; it will not be shown again. Anyone who has it can manage this gateway.
        </Callout>
        <Secret text={secret} label="key" />
      </DialogContent>
    </Dialog>
  );
}
