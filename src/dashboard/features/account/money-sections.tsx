import { type AccountDetail, refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { formatCount, formatUsd } from "../../format.ts";
import { TextField } from "../../kit/field.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";

export function CreditSection({ account: { id, email } }: { account: AccountDetail }) {
  const form = useForm({ usd: "", note: "" }, async ({ usd, note }) => {
    const credit = { usd: usd.trim(), note: note.trim() };
    const { balance_usd } = await request(organization.projects({ project_id: id }).credits.post(credit));
    form.reset();
    await refreshAccounts();
    toast(`The balance of ${email} is ${formatUsd(balance_usd)}`);
  });
  const { usd, note } = form.values;
  return (
    <Section title="Add credit">
      <Form form={form} className="stack card-body">
        <div className="split">
          <TextField
            label="Credit (USD)"
            inputMode="decimal"
            autoComplete="off"
            placeholder="25.00"
            {...form.field("usd")}
            hint="To deduct, use the command: modelgate wallet debit"
          />
          <TextField label="Note (shown on the statement)" autoComplete="off" maxLength={500} {...form.field("note")} />
        </div>
        <div className="row">
          <Submit form={form} label="Add credit" look="" isComplete={usd.trim() !== "" && note.trim() !== ""} />
        </div>
      </Form>
    </Section>
  );
}

export function LimitsSection({ account, mayChange }: { account: AccountDetail; mayChange: boolean }) {
  const { limits, quota } = account;
  return (
    <Section title="Limits">
      <dl className="facts card-body">
        <dt>Requests per minute</dt>
        <dd>
          {formatCount(limits.requests_per_minute)}{" "}
          <Source own={limits.own_requests_per_minute} ofRole={limits.role_requests_per_minute} />
        </dd>
        <dt>Tokens per minute</dt>
        <dd>
          {formatCount(limits.tokens_per_minute)}{" "}
          <Source own={limits.own_tokens_per_minute} ofRole={limits.role_tokens_per_minute} />
        </dd>
        <dt>Concurrent calls</dt>
        <dd>
          {limits.concurrent_calls === null ? "No limit" : formatCount(limits.concurrent_calls)}{" "}
          <Source own={limits.own_concurrent_calls} ofRole={limits.role_concurrent_calls} />
        </dd>
        <dt>Free tokens per day</dt>
        <dd>
          {formatCount(quota.limit)}{" "}
          <Source own={account.free_tokens_per_day} ofRole={account.is_quota_of_role ? quota.limit : null} />
        </dd>
      </dl>
      {mayChange && <LimitsForm account={account} />}
      {mayChange && <QuotaForm account={account} />}
    </Section>
  );
}

/** Says of a limit that is not the account's own where it is from. */
function Source({ own, ofRole }: { own: number | null; ofRole: number | null }) {
  if (own !== null) return undefined;
  return <span className="faint">({ofRole === null ? "default" : "from the role’s default"})</span>;
}

/** Sets the limits of the account, or gives back those of its role or the configured ones. */
function LimitsForm({ account: { id, email, limits } }: { account: AccountDetail }) {
  const initial = {
    requests_per_minute: String(limits.own_requests_per_minute ?? ""),
    tokens_per_minute: String(limits.own_tokens_per_minute ?? ""),
    concurrent_calls: String(limits.own_concurrent_calls ?? ""),
  };
  const form = useForm(initial, async (values) => {
    const read = (text: string) => (text.trim() === "" ? null : Number(text));
    const changes = {
      requests_per_minute: read(values.requests_per_minute),
      tokens_per_minute: read(values.tokens_per_minute),
      concurrent_calls: read(values.concurrent_calls),
    };
    await request(organization.projects({ project_id: id }).post(changes));
    await refreshAccounts();
    toast(`The limits of ${email} are saved`);
  });
  const isValid = Object.values(form.values).every((text) => /^([1-9]\d{0,14})?$/.test(text.trim()));
  return (
    <Form form={form} className="stack card-body">
      <div className="split">
        <TextField
          label="Requests per minute"
          inputMode="numeric"
          autoComplete="off"
          placeholder="Default"
          {...form.field("requests_per_minute")}
        />
        <TextField
          label="Tokens per minute"
          inputMode="numeric"
          autoComplete="off"
          placeholder="Default"
          {...form.field("tokens_per_minute")}
        />
        <TextField
          label="Concurrent calls"
          inputMode="numeric"
          autoComplete="off"
          placeholder="Default"
          {...form.field("concurrent_calls")}
          hint="Leave empty for the default"
        />
      </div>
      <div className="row">
        <Submit form={form} label="Set limits" look="" isComplete={isValid} />
      </div>
    </Form>
  );
}

/** Sets the daily free quota of the account, or resets it to the default. */
function QuotaForm({ account: { id, email, free_tokens_per_day } }: { account: AccountDetail }) {
  const form = useForm({ free_tokens_per_day: String(free_tokens_per_day ?? "") }, async (values) => {
    const tokens = values.free_tokens_per_day.trim() === "" ? null : Number(values.free_tokens_per_day);
    await request(organization.projects({ project_id: id }).post({ free_tokens_per_day: tokens }));
    await refreshAccounts();
    toast(tokens === null ? `${email} uses the default quota` : `${email} has a custom quota`);
  });
  const isValid = /^\d{0,15}$/.test(form.values.free_tokens_per_day.trim());
  return (
    <Form form={form} className="stack card-body">
      <TextField
        label="Free tokens per day"
        inputMode="numeric"
        autoComplete="off"
        {...form.field("free_tokens_per_day")}
        {...(!isValid && { error: "Enter a whole number of tokens" })}
        hint="Leave empty for the default quota"
      />
      <div className="row">
        <Submit form={form} label="Set quota" look="" isComplete={isValid} />
      </div>
    </Form>
  );
}
