import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { useBaseUrl } from "../../data/api.ts";
import { Button } from "../../ui/button.tsx";
import { Empty } from "../../ui/feedback.tsx";
import { TextAreaField, TextField } from "../../ui/field.tsx";
import { ModelField, Panel, type PanelProps, toCurl } from "./panel.tsx";
import { type Turn, toRequestBody, useChat } from "./use-chat.ts";

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
          <TextAreaField
            label="System message"
            rows={3}
            placeholder="How the model should behave"
            value={system}
            onText={setSystem}
          />
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
          <Button icon="trash" disabled={turns.length === 0 || isRunning} onClick={clear}>
            Clear chat
          </Button>
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
        <Button look="danger" icon="stop" onClick={onStop}>
          Stop
        </Button>
      ) : (
        <Button type="submit" look="primary" icon="send" disabled={draft.trim() === ""}>
          Send
        </Button>
      )}
    </form>
  );
}
