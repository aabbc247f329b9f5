import { type ReactNode, useId, useLayoutEffect, useRef } from "react";
import { Icon } from "./icon.tsx";

/**
 * A dialog over the page for as long as it is rendered. The browser keeps the focus in it, and gives it back.
 *
 * @param isConfirmed Not closed by a click beside it: what it shows is not shown again.
 */
export function Dialog({
  title,
  about,
  isWide = false,
  isConfirmed = false,
  onClose,
  children,
}: {
  title: string;
  about?: ReactNode;
  isWide?: boolean;
  isConfirmed?: boolean;
  onClose: () => void;
  children: ReactNode;
}) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // Before it is taken away: a dialog that is closed then gives the focus back to where it was.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, as every dialog
    <dialog
      ref={element}
      className={isWide ? "dialog is-wide" : "dialog"}
      aria-labelledby={id}
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={(event) => !isConfirmed && event.target === element.current && onClose()}
    >
      <header className="dialog-head">
        <div>
          <h2 id={id}>{title}</h2>
          {about !== undefined && <p>{about}</p>}
        </div>
        <button type="button" className="btn btn-plain btn-icon btn-small" aria-label="Close" onClick={onClose}>
          <Icon name="close" size={16} />
        </button>
      </header>
      {children}
    </dialog>
  );
}
