import type { ComponentProps, FormEvent } from "react";
import { Callout } from "./callout.tsx";
import { Dialog } from "./dialog.tsx";

interface FormDialogProps extends ComponentProps<typeof Dialog> {
  /** What the button says, and while it is done. */
  verbs: readonly [idle: string, busy: string];
  action: { run: () => Promise<unknown>; readonly isBusy: boolean };
  /** Whether enough is filled in. */
  isWhole: boolean;
  /** What is wrong with no field of it. */
  wrong?: string | undefined;
}

/** A dialog that asks for something and then does it. */
export function FormDialog({ verbs, action, isWhole, wrong, children, ...dialog }: FormDialogProps) {
  const { run, isBusy } = action;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    void run();
  };
  return (
    <Dialog {...dialog}>
      <form onSubmit={submit} noValidate>
        <div className="dialog-body">
          {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
          {children}
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn" onClick={dialog.onClose}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary" disabled={isBusy || !isWhole}>
            {verbs[isBusy ? 1 : 0]}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
