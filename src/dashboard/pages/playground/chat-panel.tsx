import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { Empty } from "../../ui/feedback.tsx";
import { TextField } from "../../ui/field.tsx";
import { Icon } from "../../ui/icon.tsx";
import { ModelField, Panel, type PanelProps, toCurl, useBaseUrl } from "./panel.tsx";
import { type Turn, toRequestBody, useChat } from "./use-chat.ts";

/** A chat with a model. */
export function ChatPanel(props: PanelProps) {
  const { model } = props;
  const [system, setSystem] = useState("");
  const [temperature, setTemperature] = useState("");
  const [maxTokens, setMaxTokens] = useState("");
  const [draft, setDraft] = useState("");
  const fields = { model: model.id, system, temperature, max_tokens: maxTokens };
  const { turns, isRunning, send, stop, clear } = useChat(fields);
  const baseUrl = useBaseUrl();
  const next: readonly Turn[] = [
    ...turns,
    { role: "user", text: draft === "" && turns.length === 0 ? "Say hello" : draft },
  ];
  const submit = () => {
    if (isRunning || draft.trim() === "") return;
    setDraft("");
    void send(draft);
  };
  return (
    <Panel
      curl={toCurl(`${baseUrl}/chat/completions`, toRequestBody(fields, next), "-N")}
      settings={
        <>
          <ModelField {...props} />
          <div className="field">
            <label htmlFor="system">System message</label>
            <textarea
              id="system"
              className="input"
              rows={3}
              placeholder="How the model should behave"
              value={system}
              onChange={(event) => setSystem(event.target.value)}
            />
          </div>
          <TextField
            label="Temperature"
            type="number"
            min={0}
            max={2}
            step={0.1}
            placeholder="Default (0.7)"
            value={temperature}
            onText={setTemperature}
          />
          <TextField
            label="Max output tokens"
            type="number"
            min={1}
            step={1}
            placeholder="No limit"
            value={maxTokens}
            onText={setMaxTokens}
          />
          <button type="button" className="btn" disabled={turns.length === 0 || isRunning} onClick={clear}>
            <Icon name="trash" size={15} />
            Clear chat
          </button>
        </>
      }
    >
      <section className="card chat" aria-label="Chat">
        <Turns turns={turns} isRunning={isRunning} />
        <Composer draft={draft} onDraft={setDraft} isRunning={isRunning} onSubmit={submit} onStop={stop} />
      </section>
    </Panel>
  );
}

/** The messages so far, always rendered as plain text. */
function Turns({ turns, isRunning }: { turns: readonly Turn[]; isRunning: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const last = turns.at(-1)?.text;
  // biome-ignore lint/correctness/useExhaustiveDependencies: scrolls to the end after each chunk
  useEffect(() => {
    box.current?.scrollTo({ top: box.current.scrollHeight });
  }, [turns.length, last]);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: scrollable regions must be reachable by keyboard
    <div className="chat-turns" ref={box} role="log" aria-label="Messages" aria-busy={isRunning} tabIndex={0}>
      {turns.length === 0 && (
        <Empty icon="play" title="Send a message">
          <p>The response streams in and can be stopped at any time. Output received until then is charged.</p>
        </Empty>
      )}
      {turns.map((turn, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: turns are only added at the end
        <div key={place} className={`turn is-${turn.role}`}>
          <span className="turn-who">{turn.role === "user" ? "You" : "Model"}</span>
          {turn.reasoning !== undefined && <p className="turn-thought">{turn.reasoning}</p>}
          <p className="turn-text">
            {turn.text}
            {turn.role === "assistant" && turn.end === undefined && <span className="caret" />}
          </p>
          {turn.end !== undefined && (
            <span className={turn.end.state === "failed" ? "turn-end is-bad" : "turn-end"}>{turn.end.text}</span>
          )}
        </div>
      ))}
    </div>
  );
}

function Composer({
  draft,
  onDraft,
  isRunning,
  onSubmit,
  onStop,
}: {
  draft: string;
  onDraft: (text: string) => void;
  isRunning: boolean;
  onSubmit: () => void;
  onStop: () => void;
}) {
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== "Enter" || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    onSubmit();
  };
  const submit = (event: FormEvent) => {
    event.preventDefault();
    onSubmit();
  };
  return (
    <form className="composer" onSubmit={submit}>
      <textarea
        className="input"
        rows={2}
        aria-label="Your message"
        placeholder="Type a message (Enter to send)"
        value={draft}
        onChange={(event) => onDraft(event.target.value)}
        onKeyDown={onKey}
      />
      {isRunning ? (
        <button type="button" className="btn btn-danger" onClick={onStop}>
          <Icon name="stop" size={15} />
          Stop
        </button>
      ) : (
        <button type="submit" className="btn btn-primary" disabled={draft.trim() === ""}>
          <Icon name="send" size={15} />
          Send
        </button>
      )}
    </form>
  );
}
