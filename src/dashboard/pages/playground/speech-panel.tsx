import { useEffect, useState } from "react";
import { callWithJson, showCharge } from "../../data/playground-key.ts";
import { formatCount } from "../../format.ts";
import { Callout } from "../../ui/callout.tsx";
import { Field } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { Empty } from "../../ui/states.tsx";
import { useAction } from "../../ui/use-action.ts";
import { Choice } from "./choice.tsx";
import { curlOf } from "./curl.ts";
import { ModelField, Panel, type PanelProps, useBaseUrl } from "./panel.tsx";

/** Words read aloud. */
export function SpeechPanel(props: PanelProps) {
  const { model } = props;
  const { voices = [], voiceDefault, inputCharactersMax } = model;
  const [text, setText] = useState("");
  const [wanted, setVoice] = useState("");
  const [sound, setSound] = useState<Blob>();
  const voice = voices.includes(wanted) ? wanted : (voiceDefault ?? voices[0]);
  const baseUrl = useBaseUrl();
  const body = { model: model.id, input: text === "" ? "Hello, world" : text, ...(voice !== undefined && { voice }) };
  const { run, isBusy, otherThan } = useAction(async () => {
    try {
      setSound(await (await callWithJson("/audio/speech", body)).blob());
    } finally {
      showCharge();
    }
  });
  const wrong = otherThan();
  const bound = inputCharactersMax === undefined ? "" : ` of ${formatCount(inputCharactersMax)}`;
  return (
    <Panel
      curl={curlOf(`${baseUrl}/audio/speech`, body, "-o speech.wav")}
      settings={
        <>
          <ModelField {...props} />
          {voice !== undefined && <Choice label="Voice" value={voice} options={voices} onChoose={setVoice} />}
        </>
      }
    >
      <section className="card card-body stack" aria-label="Speech">
        <Field label="What should be said?" hint={`${formatCount(text.length)}${bound} characters`}>
          {(tied) => (
            <textarea
              {...tied}
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
            {isBusy ? "Making…" : "Say it"}
          </button>
        </div>
        {wrong !== undefined && <Callout tone="bad">{wrong}</Callout>}
        {sound === undefined ? <Empty icon="sound" title="Nothing said yet" /> : <Player sound={sound} />}
      </section>
    </Panel>
  );
}

function Player({ sound }: { sound: Blob }) {
  const [address, setAddress] = useState<string>();
  useEffect(() => {
    const made = URL.createObjectURL(sound);
    setAddress(made);
    return () => URL.revokeObjectURL(made);
  }, [sound]);
  if (address === undefined) return null;
  return (
    <div className="row">
      {/* biome-ignore lint/a11y/useMediaCaption: its words stand above it */}
      <audio controls src={address} aria-label="The speech" />
      <a className="btn btn-small" href={address} download="speech.wav">
        <Icon name="download" size={14} />
        WAV
      </a>
    </div>
  );
}
