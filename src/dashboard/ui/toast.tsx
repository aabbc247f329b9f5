import { useEffect, useRef, useSyncExternalStore } from "react";
import { Icon } from "./icon.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
}

const shownMs = 6000;
const shownMax = 4;
const listeners = new Set<() => void>();
let toasts: readonly Toast[] = [];
let lastId = 0;

/** Shows a short confirmation in the corner of the page. */
export function toast(text: string): void {
  add(text, false);
}

/** Shows an error as a toast. */
export function toastError(error: unknown): void {
  add(error instanceof Error ? error.message : String(error), true);
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts);
  const element = useRef<HTMLDivElement>(null);
  // Reopened for each toast, so that it stays above dialogs opened meanwhile.
  useEffect(() => {
    if (element.current?.matches(":popover-open")) element.current.hidePopover();
    if (shown.length > 0) element.current?.showPopover();
  }, [shown]);
  return (
    <div ref={element} className="toasts" popover="manual" role="status" aria-live="polite">
      {shown.map(({ id, text, isBad }) => (
        <div key={id} className={isBad ? "toast is-bad" : "toast"}>
          <Icon name={isBad ? "alert" : "check"} />
          <p>{text}</p>
          <button type="button" aria-label="Dismiss" onClick={() => remove(id)}>
            <Icon name="close" size={14} />
          </button>
        </div>
      ))}
    </div>
  );
}

function add(text: string, isBad: boolean): void {
  lastId += 1;
  const id = lastId;
  publish([...toasts, { id, text, isBad }].slice(-shownMax));
  setTimeout(() => remove(id), shownMs);
}

function remove(id: number): void {
  if (toasts.some((known) => known.id === id)) publish(toasts.filter((known) => known.id !== id));
}

function publish(next: readonly Toast[]): void {
  toasts = next;
  for (const listener of listeners) listener();
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
