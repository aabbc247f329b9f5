import { useEffect, useState } from "react";
import { formatCount } from "../../format.ts";
import { SelectField, TextAreaField } from "../../kit/field.tsx";
import { Icon } from "../../kit/icon.tsx";
import { CallCard, ModelField, Panel, type PanelProps, toCurl } from "./panel.tsx";
import { callApiWithJson } from "./playground-key.ts";

export function SpeechPanel(props: PanelProps) {
  const { model } = props;
  const { voices = [], voiceDefault, inputCharactersMax } = model;
  const [text, setText] = useState("");
  const [chosenVoice, setVoice] = useState("");
  const [audio, setAudio] = useState<Blob>();
  const voice = voices.includes(chosenVoice) ? chosenVoice : (voiceDefault ?? voices[0]);
  const body = { model: model.id, input: text === "" ? "Hello, world" : text, ...(voice !== undefined && { voice }) };
  const call = async () => setAudio(await (await callApiWithJson("/audio/speech", body)).blob());
  const limit = inputCharactersMax === undefined ? "" : ` of ${formatCount(inputCharactersMax)}`;
  return (
    <Panel
      curl={(baseUrl) => toCurl(`${baseUrl}/audio/speech`, body, "-o speech.wav")}
      settings={
        <>
          <ModelField {...props} />
          {voice !== undefined && (
            <SelectField label="Voice" value={voice} options={voices.map((name) => [name, name])} onText={setVoice} />
          )}
        </>
      }
    >
      <CallCard
        label="Speech"
        icon="sound"
        action={["Generate speech", "Generating…", "No audio yet"]}
        isComplete={text.trim() !== ""}
        call={call}
        fields={
          <TextAreaField
            label="Text"
            hint={`${formatCount(text.length)}${limit} characters`}
            rows={4}
            placeholder="Hello, world"
            value={text}
            onText={setText}
          />
        }
      >
        {audio && <Player audio={audio} />}
      </CallCard>
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
