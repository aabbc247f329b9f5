import { useState } from "react";
import { Icon } from "./icon.tsx";
import { toastError } from "./toast.tsx";

const saidMs = 1800;

/** Puts a text on the clipboard, and says so. */
export function CopyButton({ text, label = "Copy" }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = async (from: HTMLElement) => {
    try {
      await copyText(text, from);
      setCopied(true);
      setTimeout(() => setCopied(false), saidMs);
    } catch {
      toastError(new Error("The browser does not let this page copy; mark the text and copy it by hand"));
    }
  };
  return (
    <button
      type="button"
      className="btn btn-small"
      aria-label={isCopied ? "Copied" : label}
      onClick={(event) => void copy(event.currentTarget)}
    >
      <Icon name={isCopied ? "check" : "copy"} size={14} />
      <span aria-hidden="true">{isCopied ? "Copied" : "Copy"}</span>
    </button>
  );
}

/** A page that came by plain HTTP from another machine has no clipboard; there it is done as it was before there was one. */
async function copyText(text: string, from: HTMLElement): Promise<void> {
  if (navigator.clipboard !== undefined) return await navigator.clipboard.writeText(text);
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "unseen";
  // Beside the button: in an open dialog nothing else can be marked.
  from.after(area);
  try {
    area.select();
    if (!document.execCommand("copy")) throw new Error("not copied");
  } finally {
    area.remove();
    from.focus();
  }
}

/** Code to be copied. */
export function Code({ text, label }: { text: string; label: string }) {
  return (
    <div className="code">
      {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls is reached by keyboard */}
      <pre tabIndex={0}>
        <code>{text}</code>
      </pre>
      <CopyButton text={text} label={`Copy ${label}`} />
    </div>
  );
}
