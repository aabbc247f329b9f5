import { useState } from "react";
import { Button } from "./button.tsx";
import { toastError } from "./toast.tsx";

const copiedMs = 1800;

/** @param props `label` is for screen readers, `shown` is the text of the button. */
export function CopyButton({ text, label = "Copy", shown = "Copy" }: { text: string; label?: string; shown?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (from: HTMLElement) => {
    try {
      await copyText(text, from);
      setCopied(true);
      setTimeout(() => setCopied(false), copiedMs);
    } catch {
      toastError(new Error("The browser blocked copying. Select the text and copy it manually."));
    }
  };
  return (
    <Button
      look="small"
      icon={isCopied ? "check" : "copy"}
      iconSize={14}
      aria-label={isCopied ? "Copied" : label}
      onClick={(event) => void copy(event.currentTarget)}
    >
      <span aria-hidden="true">{isCopied ? "Copied" : shown}</span>
    </Button>
  );
}

/** The clipboard API needs a secure context; over plain HTTP this falls back to `execCommand`. */
async function copyText(text: string, from: HTMLElement): Promise<void> {
  if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  // Inside the dialog of the button: nothing outside an open dialog can be selected.
  from.after(area);
  try {
    area.select();
    if (!document.execCommand("copy")) throw new Error("not copied");
  } finally {
    area.remove();
    from.focus();
  }
}

/** A text to copy; a single line, such as a link, is wrapped rather than cut off. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className={text.includes("\n") ? "code" : "code is-wrapped"}>
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable by keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy ${label}`} />
    </div>
  );
}

/** A secret that is shown once. */
export function Secret({ text, label }: { text: string; label: string }) {
  return (
    <div className="secret">
      <code data-secret>{text}</code>
      <CopyButton text={text} label={`Copy ${label}`} />
    </div>
  );
}
