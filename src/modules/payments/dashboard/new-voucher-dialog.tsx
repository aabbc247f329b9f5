import { useState } from "react";
import { mutate } from "swr";
import { Code } from "../../../dashboard/kit/copy.tsx";
import { Dialog, DialogContent } from "../../../dashboard/kit/dialog.tsx";
import { TextField } from "../../../dashboard/kit/field.tsx";
import { UsdField } from "../../../dashboard/kit/figures.tsx";
import { FormDialog, useForm } from "../../../dashboard/kit/form.tsx";
import { createVoucher } from "./api.ts";

/** Creates a voucher and shows its code once. */
export function NewVoucherDialog({ onClose }: { onClose: () => void }) {
  const [code, setCode] = useState<string>();
  const form = useForm({ usd: "", expires_at: "" }, async ({ usd, expires_at: day }) => {
    // Inclusive: until the end of that day.
    const expires = day === "" ? {} : { expires_at: `${day}T23:59:59Z` };
    setCode(await createVoucher({ usd: usd.trim(), ...expires }));
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
        <DialogContent label="I've saved it" onClose={onClose}>
          <Code text={code} label="code" />
        </DialogContent>
      </Dialog>
    );
  }
  return (
    <FormDialog
      title="New voucher"
      form={form}
      label="Create voucher"
      busyLabel="Creating…"
      isComplete={form.values.usd.trim() !== ""}
      onClose={onClose}
    >
      <UsdField label="Amount (USD)" placeholder="25.00" autoFocus {...form.field("usd")} />
      <TextField
        label="Valid through (UTC)"
        type="date"
        {...form.field("expires_at")}
        hint="Leave empty for no expiry"
      />
    </FormDialog>
  );
}
