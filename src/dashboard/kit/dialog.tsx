import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { Button } from "./button.tsx";

interface ModalProps {
  /** Whether only its own buttons close it, because its content is shown only once. */
  isPersistent?: boolean;
  onClose: () => void;
  children: ReactNode;
}

const firstField = ".dialog-body :is(input:not([hidden], [type=radio]), select, textarea)";

/** A modal `dialog` element that is open while rendered. The browser traps the focus and restores it. */
export function Modal({
  isPersistent = false,
  onClose,
  children,
  ...props
}: ModalProps & { className: string; "aria-label"?: string; "aria-labelledby"?: string }) {
  const element = useRef<HTMLDialogElement>(null);
  // A layout effect closes the dialog before React removes it; only then does the browser restore the focus.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // React focuses `autoFocus` before the dialog opens, which then moves the focus to its first button.
    dialog?.querySelector<HTMLElement>(firstField)?.focus();
    return () => {
      dialog?.close();
      // The element that had the focus may be gone, such as the button of a key that was revoked.
      if (document.activeElement === document.body) document.getElementById("content")?.focus({ preventScroll: true });
    };
  }, []);
  return (
    <dialog
      {...props}
      ref={element}
      onKeyDown={(event) => isPersistent && event.key === "Escape" && event.preventDefault()}
      onCancel={(event) => {
        event.preventDefault();
        if (!isPersistent) onClose();
      }}
      onClick={(event) => !isPersistent && event.target === element.current && onClose()}
    >
      {children}
    </dialog>
  );
}

/** A modal with a heading and a button that closes it. */
export function Dialog({
  title,
  description,
  isWide = false,
  children,
  ...modal
}: ModalProps & { title: string; description?: ReactNode; isWide?: boolean }) {
  const id = useId();
  return (
    <Modal {...modal} className={isWide ? "dialog is-wide" : "dialog"} aria-labelledby={id}>
      <header className="dialog-head">
        <div>
          <h2 id={id}>{title}</h2>
          {description !== undefined && <p>{description}</p>}
        </div>
        {modal.isPersistent !== true && (
          <Button look="plain icon small" icon="close" iconSize={16} aria-label="Close" onClick={modal.onClose} />
        )}
      </header>
      {children}
    </Modal>
  );
}

/** The content of a dialog that has nothing to submit, and the button that closes it. */
export function DialogContent({
  label,
  look = "primary",
  onClose,
  children,
}: {
  label: string;
  look?: string;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <>
      <div className="dialog-body">{children}</div>
      <footer className="dialog-foot">
        <Button look={look} onClick={onClose}>
          {label}
        </Button>
      </footer>
    </>
  );
}
