import { useState } from "react";
import { mutate } from "swr";
import { api, request } from "../../data/api.ts";
import { Code } from "../../ui/copy.tsx";
import { Dialog } from "../../ui/dialog.tsx";
import { TextField } from "../../ui/field.tsx";
import { FormDialog } from "../../ui/form-dialog.tsx";
import { useAction } from "../../ui/use-action.ts";

/** Creates a voucher and shows its code once. */
export function NewVoucherDialog({ onClose }: { onClose: () => void }) {
  const [usd, setUsd] = useState("");
  const [day, setDay] = useState("");
  const [code, setCode] = useState<string>();
  const action = useAction(async () => {
    // Inclusive: until the end of that day.
    const expires = day === "" ? {} : { expires_at: `${day}T23:59:59Z` };
    const created = await request(api.admin.vouchers.post({ usd: usd.trim(), ...expires }));
    setCode(created.code);
    await mutate("admin-vouchers");
  });
  if (code !== undefined) {
    return (
      <Dialog
        title="Voucher created"
        description="Copy the code now. It will not be shown again."
        isPersistent
        onClose={onClose}
      >
        <div className="dialog-body">
          <Code text={code} label="code" />
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn btn-primary" onClick={onClose}>
            I've saved it
          </button>
        </footer>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="New voucher"
      labels={["Create voucher", "Creating…"]}
      action={action}
      isComplete={usd.trim() !== ""}
      error={action.formError("usd", "expires_at")}
      onClose={onClose}
    >
      <TextField
        label="Amount (USD)"
        inputMode="decimal"
        autoComplete="off"
        placeholder="25.00"
        autoFocus
        value={usd}
        onText={setUsd}
        error={action.fieldError("usd")}
      />
      <TextField
        label="Valid through (UTC)"
        type="date"
        value={day}
        onText={setDay}
        error={action.fieldError("expires_at")}
        hint="Leave empty for no expiry"
      />
    </FormDialog>
  );
}
