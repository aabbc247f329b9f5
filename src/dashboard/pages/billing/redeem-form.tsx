import { useState } from "react";
import { mutate } from "swr";
import { api, request } from "../../data/api.ts";
import { formatUsd } from "../../format.ts";
import { Callout } from "../../ui/feedback.tsx";
import { TextField } from "../../ui/field.tsx";
import { toast } from "../../ui/toast.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Redeems a voucher into the wallet. */
export function RedeemForm() {
  const [code, setCode] = useState("");
  const { submit, isBusy, fieldError, formError } = useAction(async () => {
    const { usd } = await request(api.vouchers.redeem.post({ code: code.trim() }));
    setCode("");
    toast(`${formatUsd(usd)} added to your wallet`);
    await Promise.all([mutate("me"), mutate("vouchers"), mutate((key) => Array.isArray(key) && key[0] === "entries")]);
  });
  return (
    <form className="card card-body stack stack-tight" onSubmit={submit} noValidate>
      <Callout tone="bad">{formError("code")}</Callout>
      <div className="redeem">
        <TextField
          label="Redeem a voucher"
          placeholder="XXXXX-XXXXX-XXXXX-XXXXX"
          autoComplete="off"
          spellCheck={false}
          value={code}
          onText={setCode}
          error={fieldError("code")}
          hint="The amount is added to your wallet immediately"
        />
        <button type="submit" className="btn btn-primary" disabled={isBusy || code.trim() === ""}>
          {isBusy ? "Redeeming…" : "Redeem"}
        </button>
      </div>
    </form>
  );
}
