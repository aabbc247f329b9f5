import { useState } from "react";
import { callApi, showCharge } from "../../data/playground-key.ts";
import { Callout } from "../../ui/callout.tsx";
import { CopyButton } from "../../ui/copy.tsx";
import { Field, TextField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { curlOfForm } from "./curl.ts";
import { ModelField, Panel, type PanelProps, useBaseUrl } from "./panel.tsx";

const endings = [".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".wav", ".webm"];
const bytesMax = 25 * 1024 * 1024;

/** Sound written down. */
export function TranscribePanel(props: PanelProps) {
  const { model } = props;
  const [file, setFile] = useState<File>();
  const [language, setLanguage] = useState("");
  const [text, setText] = useState<string>();
  const baseUrl = useBaseUrl();
  const fields = { model: model.id, ...(language !== "" && { language }) };
  const { run, isBusy, otherThan } = useAction(async () => {
    if (file === undefined) return;
    const form = new FormData();
    form.set("file", file);
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    try {
      const answer = (await (await callApi("/audio/transcriptions", form)).json()) as { text: string };
      setText(answer.text);
    } finally {
      showCharge();
    }
  });
  const unfit = file === undefined ? undefined : whyUnfit(file);
  const wrong = otherThan();
  return (
    <Panel
      curl={curlOfForm(`${baseUrl}/audio/transcriptions`, file?.name ?? "speech.wav", fields)}
      settings={
        <>
          <ModelField {...props} />
          <TextField
            label="Language"
            placeholder="found out by itself"
            hint="ISO 639-1, such as en or de"
            maxLength={10}
            value={language}
            onText={setLanguage}
          />
        </>
      }
    >
      <section className="card card-body stack" aria-label="Transcription">
        <Field label="Sound file" hint="mp3, mp4, mpeg, mpga, m4a, wav or webm; at most 25 MB" wrong={unfit}>
          {(tied) => (
            <input
              {...tied}
              className="input"
              type="file"
              accept={endings.join(",")}
              onChange={(event) => setFile(event.target.files?.[0])}
            />
          )}
        </Field>
        <div className="row">
          <button
            type="button"
            className="btn btn-primary"
            disabled={isBusy || file === undefined || unfit !== undefined}
            onClick={() => void run()}
          >
            <Icon name="mic" size={15} />
            {isBusy ? "Writing down…" : "Write it down"}
          </button>
        </div>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
        {text === undefined ? (
          <Empty icon="mic" title="Nothing written down yet" />
        ) : (
          <div className="stack stack-tight" aria-live="polite">
            <p className="turn-text">{text}</p>
            <div className="row">
              <CopyButton text={text} label="Copy the text" />
            </div>
          </div>
        )}
      </section>
    </Panel>
  );
}

/** Said before 25 MB were sent. */
function whyUnfit({ name, size }: File): string | undefined {
  if (!endings.some((ending) => name.toLowerCase().endsWith(ending))) {
    return `${name} is no sound that is taken: expected ${endings.join(", ")}`;
  }
  return size > bytesMax ? `${name} has ${(size / 1024 / 1024).toFixed(1)} MB, at most 25 are taken` : undefined;
}
