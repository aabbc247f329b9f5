import { type FormEvent, useState } from "react";
import { api, told } from "../../data/api.ts";
import { useGateway } from "../../data/gateway.ts";
import { Callout } from "../../ui/callout.tsx";
import { TextField } from "../../ui/field.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Leads to the provider of payments; nothing where none are taken. */
export function PayForm() {
  const { data: gateway } = useGateway();
  const [usd, setUsd] = useState("");
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    const { url } = await told(api.checkout.post({ usd: usd.trim() }));
    location.assign(url);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const payments = gateway?.payments ?? null;
  if (payments === null) return null;
  const wrong = otherThan("usd");
  return (
    <form className="card card-body stack stack-tight" onSubmit={submit} noValidate>
      {new URLSearchParams(location.search).has("paid") && (
        <Callout tone="good">
          Thank you. The money is in your wallet as soon as {payments} says that it is there.
        </Callout>
      )}
      {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
      <div className="redeem">
        <TextField
          label="Add money, in US dollars"
          placeholder="25.00"
          inputMode="decimal"
          autoComplete="off"
          value={usd}
          onText={setUsd}
          wrong={wrongOf("usd")}
          hint={`You pay on a page of ${payments}`}
        />
        <button type="submit" className="btn btn-primary" disabled={isBusy || usd.trim() === ""}>
          {isBusy ? "One moment…" : "Pay"}
        </button>
      </div>
    </form>
  );
}
