import { useState } from "react";
import { useParam } from "../../kit/url-state.ts";
import { type Attachment, type ChatFields, listPendingCalls, type Turn, toRequestBody } from "./chat-request.ts";
import { ChatSettings, findMistakes, noSettings } from "./chat-settings.tsx";
import { ChatTurns } from "./chat-turns.tsx";
import { Composer } from "./composer.tsx";
import { conversations } from "./conversation.ts";
import { Panel, type PanelProps, toCurl } from "./panel.tsx";

const [first, second] = conversations;

/** A chat with one model, or the same with two side by side. */
export function ChatPanel(props: PanelProps) {
  const [settings, setSettings] = useState(noSettings);
  const [draft, setDraft] = useState("");
  const [compared, setCompared] = useParam("compare");
  const isComparing = props.models.some(({ id }) => id === compared);
  const main = first.use();
  const other = second.use();
  const fields: ChatFields = { ...settings, model: props.model.id };
  const pending = listPendingCalls(main.turns);
  const isRunning = main.isRunning || (isComparing && other.isRunning);
  const send = (text: string, attachments: readonly Attachment[]) => {
    if (pending.length > 0 && !isComparing) return sendResult(fields, { text, pending });
    const turn: Turn = { role: "user", text, ...(attachments.length > 0 && { attachments }) };
    void first.send(fields, [turn]);
    if (isComparing) void second.send({ ...fields, model: compared }, [turn]);
  };
  const next: Turn = { role: "user", text: draft === "" && main.turns.length === 0 ? "Say hello" : draft };
  return (
    <Panel
      curl={(baseUrl) => toCurl(`${baseUrl}/chat/completions`, toRequestBody(fields, [...main.turns, next]), "-N")}
      settings={
        <ChatSettings
          panel={props}
          settings={settings}
          onChange={setSettings}
          compared={isComparing ? compared : ""}
          onCompare={setCompared}
          canClear={main.turns.length + other.turns.length > 0 && !isRunning}
          onClear={() => {
            first.clear();
            second.clear();
          }}
        />
      }
    >
      <section className="card chat" aria-label="Chat">
        <div className={isComparing ? "chat-columns is-two" : "chat-columns"}>
          <ChatColumn title={isComparing ? props.model.id : undefined} {...main} />
          {isComparing && <ChatColumn title={compared} {...other} />}
        </div>
        <Composer
          draft={draft}
          onDraft={setDraft}
          placeholder={
            pending[0] === undefined ? "Type a message (Enter to send)" : `Result of ${pending[0].function.name}`
          }
          isRunning={isRunning}
          canSend={Object.keys(findMistakes(settings)).length === 0}
          onSend={send}
          onStop={() => {
            first.stop();
            second.stop();
          }}
        />
      </section>
    </Panel>
  );
}

/**
 * Adds the result of the next tool. Once each tool call has its result, the conversation is sent to the model again.
 */
function sendResult(
  fields: ChatFields,
  { text, pending }: { text: string; pending: ReturnType<typeof listPendingCalls> },
): void {
  const result: Turn = { role: "tool", text, ...(pending[0] !== undefined && { toolCallId: pending[0].id }) };
  if (pending.length > 1) first.add([result]);
  else void first.send(fields, [result]);
}

function ChatColumn({
  title,
  turns,
  isRunning,
}: {
  title: string | undefined;
  turns: readonly Turn[];
  isRunning: boolean;
}) {
  return (
    <div className="chat-column">
      {title !== undefined && <h2 className="chat-title cut">{title}</h2>}
      <ChatTurns turns={turns} isRunning={isRunning} />
    </div>
  );
}
