import { useState } from "react";
import { api, request, useGateway } from "../../data/api.ts";
import { Callout } from "../../ui/feedback.tsx";
import { TextField } from "../../ui/field.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Redirects to the payment provider; hidden if none is configured. */
export function PayForm() {
  const { data: gateway } = useGateway();
  const [usd, setUsd] = useState("");
  const { submit, isBusy, fieldError, formError } = useAction(async () => {
    const { url } = await request(api.checkout.post({ usd: usd.trim() }));
    location.assign(url);
  });
  const payments = gateway?.payments ?? null;
  if (payments === null) return null;
  return (
    <form className="card card-body stack stack-tight" onSubmit={submit} noValidate>
      {new URLSearchParams(location.search).has("paid") && (
        <Callout tone="good">
          Thank you. The amount is added to your wallet as soon as {payments} confirms the payment.
        </Callout>
      )}
      <Callout tone="bad">{formError("usd")}</Callout>
      <div className="redeem">
        <TextField
          label="Add credit (USD)"
          placeholder="25.00"
          inputMode="decimal"
          autoComplete="off"
          value={usd}
          onText={setUsd}
          error={fieldError("usd")}
          hint={`You will be redirected to ${payments}`}
        />
        <button type="submit" className="btn btn-primary" disabled={isBusy || usd.trim() === ""}>
          {isBusy ? "Redirecting…" : "Pay"}
        </button>
      </div>
    </form>
  );
}
