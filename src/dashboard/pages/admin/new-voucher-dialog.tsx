import { type FormEvent, useState } from "react";
import { mutate } from "swr";
import { api, told } from "../../data/api.ts";
import { Callout } from "../../ui/callout.tsx";
import { Code } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Makes a voucher, and shows its code once. */
export function NewVoucherDialog({ onClose }: { onClose: () => void }) {
  const [usd, setUsd] = useState("");
  const [day, setDay] = useState("");
  const [code, setCode] = useState<string>();
  const { run, isBusy, wrongOf, otherThan } = useAction(async () => {
    // To the end of that day.
    const expires = day === "" ? {} : { expires_at: `${day}T23:59:59Z` };
    const made = await told(api.admin.vouchers.post({ usd: usd.trim(), ...expires }));
    setCode(made.code);
    await mutate("admin-vouchers");
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  if (code !== undefined) {
    return (
      <Dialog title="The voucher's code" about="It is shown this once; only its hash is kept." isFirm onClose={onClose}>
        <div className="dialog-body">
          <Code text={code} label="the code" />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn btn-primary" onClick={onClose}>
            I have kept it
          </button>
        </footer>
      </Dialog>
    );
  }
  const wrong = otherThan("usd", "expires", "expires_at");
  return (
    <Dialog title="New voucher" onClose={onClose}>
      <form onSubmit={submit} noValidate>
        <div className="dialog-body">
          {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
          <TextField
            label="Worth in US dollars"
            inputMode="decimal"
            autoComplete="off"
            placeholder="25.00"
            autoFocus
            value={usd}
            onText={setUsd}
            wrong={wrongOf("usd")}
          />
          <TextField
            label="Last day (UTC)"
            type="date"
            value={day}
            onText={setDay}
            wrong={wrongOf("expires", "expires_at")}
            hint="Empty: it does not expire"
          />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn" onClick={onClose}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary" disabled={isBusy || usd.trim() === ""}>
            {isBusy ? "Making…" : "Make voucher"}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
