import type { ReactNode } from "react";
import { Callout } from "./callout.tsx";
import { Dialog } from "./dialog.tsx";
import { useAction } from "./use-action.ts";

/** Asks before something is done that cannot be undone. */
export function Confirm({
  title,
  action,
  act,
  onClose,
  children,
}: {
  title: string;
  /** What the button says. */
  action: string;
  act: () => Promise<unknown>;
  onClose: () => void;
  children: ReactNode;
}) {
  const { run, isBusy, otherThan } = useAction(act);
  const wrong = otherThan();
  const confirm = async () => {
    if (await run()) onClose();
  };
  return (
    <Dialog title={title} onClose={onClose}>
      <div className="dialog-body">
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
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
