import { Code } from "../../../dashboard/kit/copy.tsx";
import { PasswordField, SelectField, TextField } from "../../../dashboard/kit/field.tsx";
import { FormDialog, useForm } from "../../../dashboard/kit/form.tsx";
import { type AlertScope, addChannel, addOwnChannel, type ChannelKind, type MetricRule } from "./api.ts";
import { FilterFields, filterDefault, toFilter } from "./filter-fields.tsx";

/** The kinds of channels, and where the address of each is found. */
export const kindNames: Readonly<Record<ChannelKind, string>> = {
  webhook: "Webhook (Mattermost, your own server)",
  email: "Email",
  slack: "Slack",
  pagerduty: "PagerDuty",
  teams: "Microsoft Teams",
  discord: "Discord",
};

const addressHints: Partial<Readonly<Record<ChannelKind, string>>> = {
  webhook: "Messages are JSON with a text.",
  slack: "Of an incoming webhook of your Slack app.",
  teams: "Of the workflow “Post to a channel when a webhook request is received”.",
  discord: "Channel settings → Integrations → Webhooks.",
};

const placeholders: Partial<Readonly<Record<ChannelKind, string>>> = {
  webhook: "https://alerts.example.com/modelgate",
  slack: "https://hooks.slack.com/services/…",
  teams: "https://….api.powerplatform.com/…",
  discord: "https://discord.com/api/webhooks/…",
};

const euUrl = "https://events.eu.pagerduty.com/v2/enqueue";
const regions = [
  ["", "US"],
  [euUrl, "EU"],
] as const;

/** Made in the browser, so no answer of the gateway ever contains the secret. */
function createSecret(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
}

/** The fields of where a new channel leads. */
function createTarget() {
  const region = "" as (typeof regions)[number][0];
  return { kind: "webhook" as ChannelKind, name: "", url: "", to: "", secret: createSecret(), routing_key: "", region };
}

interface ChannelDialogProps {
  scope: AlertScope;
  /** Whether the gateway can send e-mails. */
  hasMail: boolean;
  metricRules: readonly MetricRule[];
  onClose: () => void;
}

/** Adds a channel of alerts. E-mails of an account go to the address of its user. */
export function ChannelDialog({ scope, hasMail, metricRules, onClose }: ChannelDialogProps) {
  const ofScope: readonly ChannelKind[] =
    scope === "own" ? ["webhook", "email"] : ["webhook", "slack", "pagerduty", "teams", "discord", "email"];
  const kinds = ofScope.filter((kind) => kind !== "email" || hasMail).map((kind) => [kind, kindNames[kind]] as const);
  const form = useForm({ ...createTarget(), ...filterDefault }, async (values) => {
    const { kind, secret, region } = values;
    const url = values.url.trim();
    const name = toName(values.name);
    if (scope === "own") await addOwnChannel(kind === "webhook" ? { name, url, secret } : undefined);
    else {
      const to = values.to.split(",").flatMap((address) => address.trim() || []);
      await addChannel({
        kind,
        name,
        ...(kind === "email" && { to }),
        ...(kind === "pagerduty" && { routing_key: values.routing_key.trim(), ...(region !== "" && { url: region }) }),
        ...(kind in addressHints && { url }),
        ...(kind === "webhook" && { secret }),
        ...toFilter(values, kind),
      });
    }
    onClose();
  });
  const { kind, url, to, routing_key: routingKey } = form.values;
  const required = { email: to, pagerduty: routingKey };
  const isComplete =
    scope === "own" && kind === "email"
      ? true
      : (kind === "email" || kind === "pagerduty" ? required[kind] : url).trim() !== "";
  return (
    <FormDialog
      title="New channel"
      form={form}
      label="Add channel"
      busyLabel="Adding…"
      isComplete={isComplete}
      onClose={onClose}
    >
      {kinds.length > 1 && (
        <SelectField label="Kind" options={kinds} value={kind} onText={(chosen) => form.set({ kind: chosen })} />
      )}
      {(scope === "admin" || kind === "webhook") && <NameField {...form.field("name")} />}
      <TargetFields scope={scope} form={form} />
      {scope === "admin" && <FilterFields form={form} kind={kind} metricRules={metricRules} />}
    </FormDialog>
  );
}

/** The name that is typed; `null`: the gateway's own. */
export function toName(text: string): string | null {
  return text.trim() === "" ? null : text.trim();
}

/** The name of a channel. */
export function NameField(field: { value: string; onText: (text: string) => void; error: string | undefined }) {
  return (
    <TextField
      label="Name"
      autoComplete="off"
      maxLength={80}
      placeholder="On call"
      {...field}
      hint="Optional. Without one it is named by its kind and host."
    />
  );
}

interface TargetFieldsProps {
  scope: AlertScope;
  form: {
    readonly values: ReturnType<typeof createTarget>;
    set(change: Partial<ReturnType<typeof createTarget>>): void;
    field(name: "url" | "to" | "routing_key"): {
      value: string;
      onText: (text: string) => void;
      error: string | undefined;
    };
  };
}

/** The fields that the kind of a channel needs. */
function TargetFields({ scope, form }: TargetFieldsProps) {
  const { kind, secret, region } = form.values;
  return (
    <>
      {kind in addressHints && (
        <TextField
          label="Address"
          type="url"
          autoComplete="off"
          placeholder={placeholders[kind]}
          autoFocus
          {...form.field("url")}
          hint={`${addressHints[kind]} It is stored encrypted and not shown again.`}
        />
      )}
      {kind === "webhook" && (
        <div className="field">
          <span>Signing secret</span>
          <Code text={secret} label="secret" />
          <span className="hint">
            Your server can verify the signature of each message with it (Standard Webhooks). Copy it now: it will not
            be shown again.
          </span>
        </div>
      )}
      {kind === "pagerduty" && (
        <div className="grid-two">
          <PasswordField
            label="Integration key"
            autoComplete="off"
            {...form.field("routing_key")}
            hint="Of an Events API v2 integration. It is stored encrypted."
          />
          <SelectField
            label="Region"
            options={regions}
            value={region}
            onText={(chosen) => form.set({ region: chosen })}
          />
        </div>
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
    </>
  );
}
