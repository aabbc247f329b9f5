import { mutate } from "swr";
import { request } from "../../../dashboard/data/api.ts";
import { formatUsd } from "../../../dashboard/format.ts";
import { Callout } from "../../../dashboard/kit/feedback.tsx";
import { TextField } from "../../../dashboard/kit/field.tsx";
import { UsdField } from "../../../dashboard/kit/figures.tsx";
import { Form, Submit, useForm } from "../../../dashboard/kit/form.tsx";
import { toast } from "../../../dashboard/kit/toast.tsx";
import { api, usePayments } from "./api.ts";

const className = "card card-body stack stack-tight";

export function RedeemForm() {
  const form = useForm({ code: "" }, async ({ code }) => {
    const { usd } = await request(api.vouchers.redeem.post({ code: code.trim() }));
    form.reset();
    toast(`${formatUsd(usd)} added to your wallet`);
    await Promise.all([mutate("me"), mutate("vouchers"), mutate((key) => Array.isArray(key) && key[0] === "entries")]);
  });
  return (
    <Form form={form} className={className}>
      <div className="redeem">
        <TextField
          label="Redeem a voucher"
          placeholder="XXXXX-XXXXX-XXXXX-XXXXX"
          autoComplete="off"
          spellCheck={false}
          {...form.field("code")}
          hint="The amount is added to your wallet immediately"
        />
        <Submit form={form} label="Redeem" busyLabel="Redeeming…" isComplete={form.values.code.trim() !== ""} />
      </div>
    </Form>
  );
}

/** Redirects to the payment provider; hidden if none is configured. */
export function PayForm() {
  const payments = usePayments() ?? null;
  const form = useForm({ usd: "" }, async ({ usd }) => {
    const { url } = await request(api.checkout.post({ usd: usd.trim() }));
    location.assign(url);
  });
  if (payments === null) return null;
  return (
    <Form form={form} className={className}>
      {new URLSearchParams(location.search).has("paid") && (
        <Callout tone="good">
          Thank you. The amount is added to your wallet as soon as {payments} confirms the payment.
        </Callout>
      )}
      <div className="redeem">
        <UsdField
          label="Add credit (USD)"
          placeholder="25.00"
          {...form.field("usd")}
          hint={`You will be redirected to ${payments}`}
        />
        <Submit form={form} label="Pay" busyLabel="Redirecting…" isComplete={form.values.usd.trim() !== ""} />
      </div>
    </Form>
  );
}
