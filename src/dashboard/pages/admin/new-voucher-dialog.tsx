import { useState } from "react";
import { mutate } from "swr";
import { api, told } from "../../data/api.ts";
import { Code } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Makes a voucher, and shows its code once. */
export function NewVoucherDialog({ onClose }: { onClose: () => void }) {
  const [usd, setUsd] = useState("");
  const [day, setDay] = useState("");
  const [code, setCode] = useState<string>();
  const action = useAction(async () => {
    // To the end of that day.
    const expires = day === "" ? {} : { expires_at: `${day}T23:59:59Z` };
    const made = await told(api.admin.vouchers.post({ usd: usd.trim(), ...expires }));
    setCode(made.code);
    await mutate("admin-vouchers");
  });
  if (code !== undefined) {
    return (
      <Dialog
        title="The voucher's code"
        about="It is shown this once; only its hash is kept."
        isConfirmed
        onClose={onClose}
      >
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
  return (
    <FormDialog
      title="New voucher"
      verbs={["Make voucher", "Making…"]}
      action={action}
      isWhole={usd.trim() !== ""}
      wrong={action.otherThan("usd", "expires_at")}
      onClose={onClose}
    >
      <TextField
        label="Worth in US dollars"
        inputMode="decimal"
        autoComplete="off"
        placeholder="25.00"
        autoFocus
        value={usd}
        onText={setUsd}
        wrong={action.wrongOf("usd")}
      />
      <TextField
        label="Last day (UTC)"
        type="date"
        value={day}
        onText={setDay}
        wrong={action.wrongOf("expires_at")}
        hint="Empty: it does not expire"
      />
    </FormDialog>
  );
}
