import { useState } from "react";
import { useBaseUrl } from "../../data/api.ts";
import { CopyButton } from "../../kit/copy.tsx";
import { Field, TextField } from "../../kit/field.tsx";
import { CallCard, ModelField, Panel, type PanelProps, toFormCurl } from "./panel.tsx";
import { callApi } from "./playground-key.ts";

const extensions = [".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".wav", ".webm"];
const bytesMax = 25 * 1024 * 1024;

export function TranscriptionPanel(props: PanelProps) {
  const { model } = props;
  const [file, setFile] = useState<File>();
  const [language, setLanguage] = useState("");
  const [text, setText] = useState<string>();
  const baseUrl = useBaseUrl();
  const fields = { model: model.id, ...(language !== "" && { language }) };
  const call = async () => {
    if (file === undefined) return;
    const form = new FormData();
    form.set("file", file);
    for (const [name, value] of Object.entries(fields)) form.set(name, value);
    const answer = (await (await callApi("/audio/transcriptions", form)).json()) as { text: string };
    setText(answer.text);
  };
  const fileError = file === undefined ? undefined : validateFile(file);
  return (
    <Panel
      curl={toFormCurl(`${baseUrl}/audio/transcriptions`, ["file", file?.name ?? "speech.wav"], fields)}
      settings={
        <>
          <ModelField {...props} />
          <TextField
            label="Language"
            placeholder="Auto-detect"
            hint="ISO 639-1 code, e.g. en or de"
            maxLength={10}
            value={language}
            onText={setLanguage}
          />
        </>
      }
    >
      <CallCard
        label="Transcription"
        icon="mic"
        action={["Transcribe", "Transcribing…", "No transcript yet"]}
        isComplete={file !== undefined && fileError === undefined}
        call={call}
        fields={
          <Field label="Audio file" hint="mp3, mp4, mpeg, mpga, m4a, wav or webm, up to 25 MB" error={fileError}>
            {(control) => (
              <input
                {...control}
                className="input"
                type="file"
                accept={extensions.join(",")}
                onChange={(event) => setFile(event.target.files?.[0])}
              />
            )}
          </Field>
        }
      >
        {text === undefined ? undefined : (
          <div className="stack stack-tight" aria-live="polite">
            <p className="turn-text">{text}</p>
            <div className="row">
              <CopyButton text={text} label="Copy transcript" />
            </div>
          </div>
        )}
      </CallCard>
    </Panel>
  );
}

/** Checked before 25 MB are uploaded. */
function validateFile({ name, size }: File): string | undefined {
  if (!extensions.some((ending) => name.toLowerCase().endsWith(ending))) {
    return `${name} is not a supported audio file. Supported: ${extensions.join(", ")}`;
  }
  return size > bytesMax ? `${name} is ${(size / 1024 / 1024).toFixed(1)} MB; the limit is 25 MB` : undefined;
}
