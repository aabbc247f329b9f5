import { useState } from "react";
import { SelectField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { type Key, rotateKey } from "./api.ts";
import { KeyCreated } from "./key-created.tsx";

const graces = [
  ["0", "Not at all"],
  ["3600", "1 hour"],
  ["86400", "1 day"],
  ["604800", "7 days"],
] as const;

/** Gives a key another secret, then shows it once. */
export function RotateKeyDialog({
  account,
  apiKey,
  onClose,
}: {
  /** The id of another account, for administrators; absent: the own one. */
  account: string | undefined;
  apiKey: Key;
  onClose: () => void;
}) {
  const [secret, setSecret] = useState<string>();
  const form = useForm({ grace_seconds: "3600" }, async ({ grace_seconds }) => {
    setSecret(await rotateKey(account, apiKey.id, Number(grace_seconds)));
  });
  if (secret !== undefined) {
    return <KeyCreated title="API key rotated" secret={secret} model={apiKey.allowed_models?.[0]} onClose={onClose} />;
  }
  return (
    <FormDialog
      title={`Rotate ${apiKey.name}`}
      description="The key gets another secret. Its limits and usage stay."
      form={form}
      label="Rotate key"
      busyLabel="Rotating…"
      onClose={onClose}
    >
      <SelectField label="The old secret still works for" options={graces} {...form.field("grace_seconds")} />
    </FormDialog>
  );
}
