import { useState } from "react";
import { CopyButton } from "../../kit/copy.tsx";
import { TextField } from "../../kit/field.tsx";
import {
  CallCard,
  FileField,
  findFileError,
  ModelField,
  Panel,
  type PanelProps,
  TaskField,
  toForm,
  toFormCurl,
  useSecondTask,
} from "./panel.tsx";
import { callApi } from "./playground-key.ts";

const endings = [".mp3", ".mp4", ".mpeg", ".mpga", ".m4a", ".wav", ".webm"];

/** Speech to text, in its language or translated into English. */
export function TranscriptionPanel(props: PanelProps) {
  const [file, setFile] = useState<File>();
  const [language, setLanguage] = useState("");
  const [text, setText] = useState<string>();
  const translation = useSecondTask(props, "translate", ({ features }) => features?.includes("translation") === true);
  const isTranslation = translation.isChosen;
  const path = isTranslation ? "/audio/translations" : "/audio/transcriptions";
  const fields = {
    model: translation.panel.model.id,
    ...(language !== "" && !isTranslation && { language }),
  };
  const call = async () => {
    if (file === undefined) return;
    const answer = (await (await callApi(path, toForm(["file", file], fields))).json()) as { text: string };
    setText(answer.text);
  };
  const fileError = findFileError(file, "audio", endings);
  return (
    <Panel
      curl={(baseUrl) => toFormCurl(`${baseUrl}${path}`, ["file", file?.name ?? "speech.wav"], fields)}
      settings={
        <>
          <TaskField
            second={translation}
            labels={["Transcribe", "Translate into English"]}
            onChoose={() => setText(undefined)}
          />
          <ModelField {...translation.panel} />
          {!isTranslation && (
            <TextField
              label="Language"
              placeholder="Auto-detect"
              hint="ISO 639-1 code, e.g. en or de"
              maxLength={10}
              value={language}
              onText={setLanguage}
            />
          )}
        </>
      }
    >
      <CallCard
        label={isTranslation ? "Translation" : "Transcription"}
        icon="mic"
        action={
          isTranslation
            ? ["Translate", "Translating…", "No translation yet"]
            : ["Transcribe", "Transcribing…", "No transcript yet"]
        }
        isComplete={file !== undefined && fileError === undefined}
        call={call}
        fields={
          <FileField
            label="Audio file"
            hint="mp3, mp4, mpeg, mpga, m4a, wav or webm, up to 25 MB"
            error={fileError}
            endings={endings}
            onFile={setFile}
          />
        }
      >
        {text === undefined ? undefined : (
          <div className="stack stack-tight" aria-live="polite">
            <p className="turn-text">{text}</p>
            <div className="row">
              <CopyButton text={text} label={isTranslation ? "Copy translation" : "Copy transcript"} />
            </div>
          </div>
        )}
      </CallCard>
    </Panel>
  );
}
