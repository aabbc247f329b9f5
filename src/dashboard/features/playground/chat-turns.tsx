import { useEffect, useRef } from "react";
import useSWR from "swr";
import { CopyButton } from "../../kit/copy.tsx";
import { Empty } from "../../kit/feedback.tsx";
import type { Turn } from "./chat-request.ts";

const names = { user: "You", assistant: "Model", tool: "Tool result" };

/** The messages so far. */
export function ChatTurns({ turns, isRunning }: { turns: readonly Turn[]; isRunning: boolean }) {
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
          <p>The response streams in and can be stopped at any time. The output so far is charged.</p>
        </Empty>
      )}
      {turns.map((turn, place) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: turns are only added at the end
        <TurnView key={place} turn={turn} isOpen={isRunning && place === turns.length - 1} />
      ))}
    </div>
  );
}

function TurnView({ turn, isOpen }: { turn: Turn; isOpen: boolean }) {
  const { role, text, attachments = [], reasoning, toolCalls = [], end } = turn;
  return (
    <div className={`turn is-${role}`}>
      <span className="turn-who">{names[role]}</span>
      {attachments.map(({ name, url }) =>
        url.startsWith("data:image/") ? (
          <img key={name} className="turn-image" src={url} alt={name} />
        ) : (
          <span key={name} className="badge">
            {name}
          </span>
        ),
      )}
      {reasoning !== undefined && (
        <details className="more" open={text === ""}>
          <summary>Reasoning</summary>
          <p className="turn-thought">{reasoning}</p>
        </details>
      )}
      <div className="turn-text">
        {role === "assistant" ? <MarkdownText text={text} /> : text}
        {isOpen && <span className="caret" />}
      </div>
      {toolCalls.map((call) => (
        <pre key={call.id} className="turn-call">
          <code>
            {call.function.name}({call.function.arguments})
          </code>
        </pre>
      ))}
      {end !== undefined && (
        <span className="row">
          <span className={end.state === "failed" ? "turn-end is-bad" : "turn-end"}>{end.text}</span>
          {text !== "" && <CopyButton text={text} label="Copy answer" />}
        </span>
      )}
    </div>
  );
}

/** Plain text until the renderer has arrived, and where it cannot be loaded. */
function MarkdownText({ text }: { text: string }) {
  const { data } = useSWR(["page", "markdown"], () => import("./markdown.tsx"), {
    revalidateOnFocus: false,
    revalidateIfStale: false,
  });
  return data === undefined ? text : <data.default text={text} />;
}
