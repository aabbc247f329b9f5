import { type AlertScope, addEmail, addWebhook } from "../../data/alerts.ts";
import { Code } from "../../ui/copy.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog, useForm } from "../../ui/form.tsx";

interface DialogProps {
  scope: AlertScope;
  onClose: () => void;
}

/** Made in the browser, so that no answer of the gateway ever contains it. */
function createSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}

export function WebhookDialog({ scope, onClose }: DialogProps) {
  const form = useForm({ url: "", secret: createSecret() }, async ({ url, secret }) => {
    await addWebhook(scope, { url: url.trim(), secret });
    onClose();
  });
  return (
    <FormDialog
      title="New webhook"
      description="Messages are JSON with a text, as Slack, Mattermost and others show it."
      form={form}
      label="Add webhook"
      busyLabel="Adding…"
      isComplete={form.values.url.trim() !== ""}
      onClose={onClose}
    >
      <TextField
        label="Address"
        type="url"
        autoComplete="off"
        placeholder="https://hooks.slack.com/services/…"
        autoFocus
        {...form.field("url")}
        hint="It is stored encrypted and not shown again."
      />
      <div className="field">
        <span>Signing secret</span>
        <Code text={form.values.secret} label="secret" />
        <span className="hint">
          Your server can verify the signature of each message with it (Standard Webhooks). Copy it now: it will not be
          shown again. Slack does not need it.
        </span>
      </div>
    </FormDialog>
  );
}

export function EmailDialog({ scope, onClose }: DialogProps) {
  const form = useForm({ to: "" }, async ({ to }) => {
    const addresses = to.split(",").map((address) => address.trim());
    await addEmail(
      scope,
      addresses.filter((address) => address !== ""),
    );
    onClose();
  });
  return (
    <FormDialog
      title="New email channel"
      form={form}
      label="Add email"
      busyLabel="Adding…"
      isComplete={form.values.to.trim() !== ""}
      onClose={onClose}
    >
      <TextField
        label="Addresses"
        autoComplete="off"
        placeholder="ops@example.com"
        autoFocus
        {...form.field("to")}
        hint="Separate several with commas"
      />
    </FormDialog>
  );
}
