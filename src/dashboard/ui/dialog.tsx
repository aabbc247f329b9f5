import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { Button } from "./button.tsx";

interface ModalProps {
  /** Whether a click outside does not close it, because its content is shown only once. */
  isPersistent?: boolean;
  onClose: () => void;
  children: ReactNode;
}

/** A modal `dialog` element that is open while rendered. The browser traps the focus and restores it. */
export function Modal({
  isPersistent = false,
  onClose,
  children,
  ...props
}: ModalProps & { className: string; "aria-label"?: string; "aria-labelledby"?: string }) {
  const element = useRef<HTMLDialogElement>(null);
  // A layout effect closes the dialog before it is removed, so that the browser restores the focus.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, like every dialog
    <dialog
      {...props}
      ref={element}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
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
        <Button look="plain icon small" icon="close" iconSize={16} aria-label="Close" onClick={modal.onClose} />
      </header>
      {children}
    </Modal>
  );
}

/** The content of a dialog that has nothing to submit, and the button that closes it. */
export function DialogContent({
  label,
  onClose,
  children,
}: {
  label: string;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <>
      <div className="dialog-body">{children}</div>
      <footer className="dialog-foot">
        <Button look="primary" onClick={onClose}>
          {label}
        </Button>
      </footer>
    </>
  );
}
