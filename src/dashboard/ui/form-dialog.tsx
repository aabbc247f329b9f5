import type { ComponentProps } from "react";
import { Dialog } from "./dialog.tsx";
import { Callout } from "./feedback.tsx";
import type { useAction } from "./use-action.ts";

interface FormDialogProps extends ComponentProps<typeof Dialog> {
  /** The label of the button, idle and busy. */
  labels: readonly [idle: string, busy: string];
  action: Pick<ReturnType<typeof useAction>, "submit" | "isBusy">;
  /** Whether all required fields are filled in. */
  isComplete: boolean;
  /** The error above the form. */
  error?: string | undefined;
}

/** A dialog with a form. */
export function FormDialog({ labels, action, isComplete, error, children, ...dialog }: FormDialogProps) {
  const { submit, isBusy } = action;
  return (
    <Dialog {...dialog}>
      <form onSubmit={submit} noValidate>
        <div className="dialog-body">
          <Callout tone="bad">{error}</Callout>
          {children}
        </div>
        <footer className="dialog-foot">
          <button type="button" className="btn" onClick={dialog.onClose}>
            Cancel
          </button>
          <button type="submit" className="btn btn-primary" disabled={isBusy || !isComplete}>
            {labels[isBusy ? 1 : 0]}
          </button>
        </footer>
      </form>
    </Dialog>
  );
}
