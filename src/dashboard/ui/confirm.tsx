import type { ReactNode } from "react";
import { Dialog } from "./dialog.tsx";
import { Callout } from "./feedback.tsx";
import { useAction } from "./use-action.ts";

/** Asks for confirmation of an irreversible action. */
export function Confirm({
  title,
  action,
  act,
  onClose,
  children,
}: {
  title: string;
  /** The label of the button. */
  action: string;
  act: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}) {
  const { run, isBusy, formError } = useAction(act);
  const confirm = async () => {
    if (await run()) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-body">
        <Callout tone="bad">{formError()}</Callout>
        <div className="soft break">{children}</div>
      </div>
      <footer className="dialog-foot">
        <button type="button" className="btn" onClick={onClose}>
          Cancel
        </button>
        <button type="button" className="btn btn-danger" disabled={isBusy} onClick={() => void confirm()}>
          {action}
        </button>
      </footer>
    </Dialog>
  );
}
