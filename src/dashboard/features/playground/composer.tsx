import { type FormEvent, type KeyboardEvent, useRef, useState } from "react";
import { Button } from "../../kit/button.tsx";
import { toastError } from "../../kit/toast.tsx";
import type { Attachment } from "./chat-request.ts";

const accept = "image/png,image/jpeg,image/webp,image/gif,application/pdf,audio/wav,audio/mpeg,.wav,.mp3";
/** Size limit of all attachments of a message: as base64 they must fit the largest request. */
const bytesMax = 15 * 1024 * 1024;

/** Where a message is written, with its attachments. */
export function Composer({
  draft,
  onDraft,
  placeholder,
  isRunning,
  canSend,
  onSend,
  onStop,
}: {
  draft: string;
  onDraft: (text: string) => void;
  placeholder: string;
  isRunning: boolean;
  /** Whether the settings are valid. */
  canSend: boolean;
  onSend: (text: string, attachments: readonly Attachment[]) => void;
  onStop: () => void;
}) {
  const [attachments, setAttachments] = useState<readonly Attachment[]>([]);
  const isEmpty = draft.trim() === "" && attachments.length === 0;
  const submit = () => {
    if (isRunning || isEmpty || !canSend) return;
    onSend(draft, attachments);
    onDraft("");
    setAttachments([]);
  };
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    submit();
  };
  const onSubmit = (event: FormEvent) => {
    event.preventDefault();
    submit();
  };
  return (
    <form className="composer" onSubmit={onSubmit}>
      {attachments.length > 0 && (
        <ul className="row composer-files" aria-label="Attachments">
          {attachments.map((attachment) => (
            <li key={attachment.name} className="badge">
              {attachment.name}
              <button
                type="button"
                aria-label={`Remove ${attachment.name}`}
                onClick={() => setAttachments(attachments.filter((each) => each !== attachment))}
              >
                ×
              </button>
            </li>
          ))}
        </ul>
      )}
      <div className="composer-line">
        <AttachButton known={attachments} onAttach={setAttachments} />
        <textarea
          className="input"
          rows={2}
          aria-label="Your message"
          placeholder={placeholder}
          value={draft}
          onChange={(event) => onDraft(event.target.value)}
          onKeyDown={onKey}
        />
        {isRunning ? (
          <Button look="danger" icon="stop" onClick={onStop}>
            Stop
          </Button>
        ) : (
          <Button type="submit" look="primary" icon="send" disabled={isEmpty || !canSend}>
            Send
          </Button>
        )}
      </div>
    </form>
  );
}

function AttachButton({
  known: attachmentsBefore,
  onAttach,
}: {
  known: readonly Attachment[];
  onAttach: (attachments: readonly Attachment[]) => void;
}) {
  const input = useRef<HTMLInputElement>(null);
  const attach = async (files: readonly File[]) => {
    const size =
      files.reduce((sum, file) => sum + file.size, 0) + attachmentsBefore.reduce((sum, { url }) => sum + url.length, 0);
    if (size > bytesMax) throw new Error("Attachments can have at most 15 MB in total.");
    onAttach([...attachmentsBefore, ...(await Promise.all(files.map(readAttachment)))]);
  };
  return (
    <>
      <input
        ref={input}
        type="file"
        accept={accept}
        multiple
        hidden
        aria-label="Attach files"
        onChange={(event) => {
          const files = [...(event.target.files ?? [])];
          event.target.value = "";
          attach(files).catch(toastError);
        }}
      />
      <Button
        look="plain icon"
        icon="clip"
        iconSize={18}
        aria-label="Attach an image, a PDF or audio"
        title="Attach an image, a PDF or audio"
        onClick={() => input.current?.click()}
      />
    </>
  );
}

function readAttachment(file: File): Promise<Attachment> {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.onload = () => resolve({ name: file.name, url: String(reader.result) });
    reader.onerror = () => reject(new Error(`${file.name} could not be read`));
    reader.readAsDataURL(file);
  });
}
