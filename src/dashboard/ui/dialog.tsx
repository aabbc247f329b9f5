import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { Icon } from "./icon.tsx";

/**
 * A modal dialog that is open while rendered. The browser traps the focus and restores it.
 *
 * @param isPersistent Not closed by a click outside, because its content is shown only once.
 */
export function Dialog({
  title,
  description,
  isWide = false,
  isPersistent = false,
  onClose,
  children,
}: {
  title: string;
  description?: ReactNode;
  isWide?: boolean;
  isPersistent?: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A layout effect closes the dialog before it is removed, so that the browser restores the focus.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, like every dialog
    <dialog
      ref={element}
      className={isWide ? "dialog is-wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => !isPersistent && event.target === element.current && onClose()}
    >
      <header className="dialog-head">
        <div>
          <h2 id={id}>{title}</h2>
          {description !== undefined && <p>{description}</p>}
        </div>
        <button type="button" className="btn btn-plain btn-icon btn-small" aria-label="Close" onClick={onClose}>
          <Icon name="close" size={16} />
        </button>
      </header>
      {children}
    </dialog>
  );
}
