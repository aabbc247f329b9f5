import { Code } from "../../kit/copy.tsx";
import { SelectField, TextField } from "../../kit/field.tsx";
import { FormDialog, useForm } from "../../kit/form.tsx";
import { type AlertScope, addEmail, addWebhook } from "./api.ts";

type Kind = "webhook" | "email";

const kinds = [
  ["webhook", "Webhook (Slack, Mattermost, your own server)"],
  ["email", "Email"],
] as const;

/** Made in the browser, so no answer of the gateway ever contains the secret. */
function createSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}

interface ChannelDialogProps {
  scope: AlertScope;
  /** Whether the gateway can send e-mails. */
  hasMail: boolean;
  onClose: () => void;
}

/** Adds a channel of alerts. E-mails of an account go to the address of its user. */
export function ChannelDialog({ scope, hasMail, onClose }: ChannelDialogProps) {
  const initial = { kind: "webhook" as Kind, url: "", to: "", secret: createSecret() };
  const form = useForm(initial, async ({ kind, url, to, secret }) => {
    if (kind === "webhook") await addWebhook(scope, { url: url.trim(), secret });
    else await addEmail(scope, scope === "own" ? [] : to.split(",").flatMap((address) => address.trim() || []));
    onClose();
  });
  const { kind, url, to, secret } = form.values;
  const isComplete = kind === "webhook" ? url.trim() !== "" : scope === "own" || to.trim() !== "";
  return (
    <FormDialog
      title="New channel"
      form={form}
      label="Add channel"
      busyLabel="Adding…"
      isComplete={isComplete}
      onClose={onClose}
    >
      {hasMail && (
        <SelectField label="Kind" options={kinds} value={kind} onText={(chosen) => form.set({ kind: chosen })} />
      )}
      {kind === "webhook" && (
        <>
          <TextField
            label="Address"
            type="url"
            autoComplete="off"
            placeholder="https://hooks.slack.com/services/…"
            autoFocus
            {...form.field("url")}
            hint="Messages are JSON with a text, as Slack, Mattermost and others show it. The address is stored encrypted and not shown again."
          />
          <div className="field">
            <span>Signing secret</span>
            <Code text={secret} label="secret" />
            <span className="hint">
              Your server can verify the signature of each message with it (Standard Webhooks). Copy it now: it will not
              be shown again. Slack does not need it.
            </span>
          </div>
        </>
      )}
      {kind === "email" && scope === "own" && <p className="soft">Alerts are sent to your email address.</p>}
      {kind === "email" && scope === "admin" && (
        <TextField
          label="Addresses"
          autoComplete="off"
          placeholder="ops@example.com"
          autoFocus
          {...form.field("to")}
          hint="Separate several with commas"
        />
      )}
    </FormDialog>
  );
}
