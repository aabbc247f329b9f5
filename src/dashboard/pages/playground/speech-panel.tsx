import { useEffect, useState } from "react";
import { callApiWithJson, refreshUsage } from "../../data/playground-key.ts";
import { formatCount } from "../../format.ts";
import { Callout, Empty } from "../../ui/feedback.tsx";
import { Field, SelectField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { useAction } from "../../ui/use-action.ts";
import { ModelField, Panel, type PanelProps, toCurl, useBaseUrl } from "./panel.tsx";

/** Text to speech. */
export function SpeechPanel(props: PanelProps) {
  const { model } = props;
  const { voices = [], voiceDefault, inputCharactersMax } = model;
  const [text, setText] = useState("");
  const [chosenVoice, setVoice] = useState("");
  const [audio, setAudio] = useState<Blob>();
  const voice = voices.includes(chosenVoice) ? chosenVoice : (voiceDefault ?? voices[0]);
  const baseUrl = useBaseUrl();
  const body = { model: model.id, input: text === "" ? "Hello, world" : text, ...(voice !== undefined && { voice }) };
  const { run, isBusy, formError } = useAction(async () => {
    try {
      setAudio(await (await callApiWithJson("/audio/speech", body)).blob());
    } finally {
      refreshUsage();
    }
  });
  const limit = inputCharactersMax === undefined ? "" : ` of ${formatCount(inputCharactersMax)}`;
  return (
    <Panel
      curl={toCurl(`${baseUrl}/audio/speech`, body, "-o speech.wav")}
      settings={
        <>
          <ModelField {...props} />
          {voice !== undefined && (
            <SelectField label="Voice" value={voice} options={voices.map((name) => [name, name])} onText={setVoice} />
          )}
        </>
      }
    >
      <section className="card card-body stack" aria-label="Speech">
        <Field label="Text" hint={`${formatCount(text.length)}${limit} characters`}>
          {(control) => (
            <textarea
              {...control}
              className="input"
              rows={4}
              placeholder="Hello, world"
              value={text}
              onChange={(event) => setText(event.target.value)}
            />
          )}
        </Field>
        <div className="row">
          <button
            type="button"
            className="btn btn-primary"
            disabled={isBusy || text.trim() === ""}
            onClick={() => void run()}
          >
            <Icon name="sound" size={15} />
            {isBusy ? "Generating…" : "Generate speech"}
          </button>
        </div>
        <Callout tone="bad">{formError()}</Callout>
        {audio === undefined ? <Empty icon="sound" title="No audio yet" /> : <Player audio={audio} />}
      </section>
    </Panel>
  );
}

function Player({ audio }: { audio: Blob }) {
  const [url, setUrl] = useState<string>();
  useEffect(() => {
    const created = URL.createObjectURL(audio);
    setUrl(created);
    return () => URL.revokeObjectURL(created);
  }, [audio]);
  if (url === undefined) return null;
  return (
    <div className="row">
      {/* biome-ignore lint/a11y/useMediaCaption: the text is shown above it */}
      <audio controls src={url} aria-label="Generated speech" />
      <a className="btn btn-small" href={url} download="speech.wav">
        <Icon name="download" size={14} />
        WAV
      </a>
    </div>
  );
}
