import { useEffect, useRef } from "react";
import { createStore } from "./create-store.ts";
import { Icon } from "./icon.tsx";

interface Toast {
  readonly id: number;
  readonly text: string;
  readonly isBad: boolean;
}

const shownMs = 6000;
const shownMax = 4;
const toasts = createStore<readonly Toast[]>([]);
let lastId = 0;

export function toast(text: string): void {
  add(text, false);
}

export function toastError(error: unknown): void {
  add(error instanceof Error ? error.message : String(error), true);
}

export function Toasts() {
  const shown = toasts.use();
  const element = useRef<HTMLDivElement>(null);
  // Reopened for each toast, to lift it above dialogs that have opened since the last one.
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
  toasts.set([...toasts.get(), { id, text, isBad }].slice(-shownMax));
  setTimeout(() => remove(id), shownMs);
}

function remove(id: number): void {
  toasts.set(toasts.get().filter((one) => one.id !== id));
}
