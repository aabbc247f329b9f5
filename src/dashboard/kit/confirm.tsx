import type { ReactNode } from "react";
import { Button } from "./button.tsx";
import { Dialog } from "./dialog.tsx";
import { Callout } from "./feedback.tsx";
import { useAction } from "./use-action.ts";

export function Confirm({
  title,
  action,
  act,
  onClose,
  children,
}: {
  title: string;
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
        <Button onClick={onClose}>Cancel</Button>
        <Button look="danger" disabled={isBusy} onClick={() => void confirm()}>
          {action}
        </Button>
      </footer>
    </Dialog>
  );
}
