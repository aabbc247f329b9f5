import { type FormEvent, useState } from "react";
import { mutate } from "swr";
import { api, told } from "../../data/api.ts";
import { formatUsd } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Turns a voucher into money. */
export function RedeemForm() {
  const [code, setCode] = useState("");
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    const { usd } = await told(api.vouchers.redeem.post({ code: code.trim() }));
    setCode("");
    toast(`${formatUsd(usd)} are in your wallet`);
    await Promise.all([mutate("me"), mutate("vouchers"), mutate((key) => Array.isArray(key) && key[0] === "entries")]);
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  const wrong = otherThan("code");
  return (
    <form className="card card-body stack stack-tight" onSubmit={submit} noValidate>
      {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
      <div className="redeem">
        <TextField
          label="Redeem a voucher"
          placeholder="XXXXX-XXXXX-XXXXX-XXXXX"
          autoComplete="off"
          spellCheck={false}
          value={code}
          onText={setCode}
          wrong={wrongOf("code")}
          hint="Its worth is added to your wallet at once"
        />
        <button type="submit" className="btn btn-primary" disabled={isBusy || code.trim() === ""}>
          {isBusy ? "Redeeming…" : "Redeem"}
        </button>
      </div>
    </form>
  );
}
