import { type AccountDetail, refreshAccounts } from "../../data/admin.ts";
import { organization, request } from "../../data/api.ts";
import { formatCount, formatUsd } from "../../format.ts";
import { TextField } from "../../kit/field.tsx";
import { FigureField, isFigure, readFigures, toFigureTexts, UsdField } from "../../kit/figures.tsx";
import { Form, Submit, useForm } from "../../kit/form.tsx";
import { Fact, Section } from "../../kit/page.tsx";
import { toast } from "../../kit/toast.tsx";

export function CreditSection({ account: { id, label } }: { account: AccountDetail }) {
  const form = useForm({ usd: "", note: "" }, async ({ usd, note }) => {
    const credit = { usd: usd.trim(), note: note.trim() };
    const { balance_usd } = await request(organization.projects({ project_id: id }).credits.post(credit));
    form.reset();
    await refreshAccounts();
    toast(`The balance of ${label} is ${formatUsd(balance_usd)}`);
  });
  const { usd, note } = form.values;
  return (
    <Section title="Add credit">
      <Form form={form} className="stack card-body">
        <div className="split">
          <UsdField
            label="Credit (USD)"
            placeholder="25.00"
            {...form.field("usd")}
            hint="A wrong credit is reversed under Activity, in Transactions"
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
        <Fact name="Requests per minute">
          {formatCount(limits.requests_per_minute)}{" "}
          <Source own={limits.own_requests_per_minute} ofRole={limits.role_requests_per_minute} />
        </Fact>
        <Fact name="Tokens per minute">
          {formatCount(limits.tokens_per_minute)}{" "}
          <Source own={limits.own_tokens_per_minute} ofRole={limits.role_tokens_per_minute} />
        </Fact>
        <Fact name="Concurrent calls">
          {limits.concurrent_calls === null ? "No limit" : formatCount(limits.concurrent_calls)}{" "}
          <Source own={limits.own_concurrent_calls} ofRole={limits.role_concurrent_calls} />
        </Fact>
        <Fact name="Free tokens per day">
          {formatCount(quota.limit)}{" "}
          <Source own={account.free_tokens_per_day} ofRole={account.is_quota_of_role ? quota.limit : null} />
        </Fact>
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

/** Sets the account's own limits. An empty field restores the limit of its role, or else the configured one. */
function LimitsForm({ account: { id, label, limits } }: { account: AccountDetail }) {
  const initial = toFigureTexts({
    requests_per_minute: limits.own_requests_per_minute,
    tokens_per_minute: limits.own_tokens_per_minute,
    concurrent_calls: limits.own_concurrent_calls,
  });
  const form = useForm(initial, async (texts) => {
    await request(organization.projects({ project_id: id }).post(readFigures(texts)));
    await refreshAccounts();
    toast(`The limits of ${label} are saved`);
  });
  const isValid = Object.values(form.values).every((text) => isFigure(text));
  return (
    <Form form={form} className="stack card-body">
      <div className="split">
        <FigureField label="Requests per minute" placeholder="Default" {...form.field("requests_per_minute")} />
        <FigureField label="Tokens per minute" placeholder="Default" {...form.field("tokens_per_minute")} />
        <FigureField
          label="Concurrent calls"
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
function QuotaForm({ account: { id, label, free_tokens_per_day } }: { account: AccountDetail }) {
  const form = useForm(toFigureTexts({ free_tokens_per_day }), async (texts) => {
    const quota = readFigures(texts);
    await request(organization.projects({ project_id: id }).post(quota));
    await refreshAccounts();
    toast(quota.free_tokens_per_day === null ? `${label} uses the default quota` : `${label} has a custom quota`);
  });
  const isValid = isFigure(form.values.free_tokens_per_day, 0);
  return (
    <Form form={form} className="stack card-body">
      <FigureField
        label="Free tokens per day"
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
