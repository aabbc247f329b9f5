import { useRef, useState } from "react";
import { messageOf } from "../../data/api.ts";
import { callWithJson, showCharge } from "../../data/playground-key.ts";
import { readChunks } from "./read-chunks.ts";

export interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** What the model thought before it spoke, where it tells. */
  readonly thought?: string;
  /** How the answer went; absent while it is on its way. */
  readonly end?: { readonly state: "whole" | "stopped" | "failed"; readonly words: string };
}

/** The fields of the request beside its messages. */
export interface ChatFields {
  readonly model: string;
  readonly system: string;
  readonly temperature: string;
  readonly max_tokens: string;
}

/** The body of the request that is sent after these turns. */
export function bodyOf({ model, system, temperature, max_tokens }: ChatFields, turns: readonly Turn[]) {
  const said = turns.filter(({ text }) => text !== "").map(({ role, text }) => ({ role, content: text }));
  return {
    model,
    messages: [...(system.trim() === "" ? [] : [{ role: "system", content: system }]), ...said],
    ...(temperature !== "" && { temperature: Number(temperature) }),
    ...(max_tokens !== "" && { max_tokens: Number(max_tokens) }),
    stream: true,
  };
}

/** A talk with a model, which comes as it is made and can be stopped. */
export function useChat(fields: ChatFields) {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const running = useRef<AbortController>(undefined);
  const [isRunning, setRunning] = useState(false);
  const change = (next: (answer: Turn) => Turn) =>
    setTurns((known) => known.map((turn, at) => (at === known.length - 1 ? next(turn) : turn)));

  const send = async (text: string) => {
    const asked: readonly Turn[] = [...turns, { role: "user", text }];
    setTurns([...asked, { role: "assistant", text: "" }]);
    const controller = new AbortController();
    running.current = controller;
    setRunning(true);
    const startedAt = performance.now();
    try {
      const body = { ...bodyOf(fields, asked), stream_options: { include_usage: true } };
      const response = await callWithJson("/chat/completions", body, controller.signal);
      const words = await show(response, change);
      const took = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
      const route = response.headers.get("x-modelgate-route");
      change((turn) => ({
        ...turn,
        end: { state: "whole", words: [words, took, route].filter((part) => part !== null && part !== "").join(" · ") },
      }));
    } catch (error) {
      const isStopped = controller.signal.aborted;
      const words = isStopped ? "Stopped; what came is charged" : messageOf(error);
      change((turn) => ({ ...turn, end: { state: isStopped ? "stopped" : "failed", words } }));
    } finally {
      setRunning(false);
      showCharge();
    }
  };

  return { turns, isRunning, send, stop: () => running.current?.abort(), clear: () => setTurns([]) };
}

/** Adds to the answer what comes, and returns what was used. */
async function show(response: Response, change: (next: (answer: Turn) => Turn) => void): Promise<string> {
  let used = "";
  if (response.body === null) return used;
  for await (const { choices, usage } of readChunks(response.body)) {
    const { content, reasoning_content: thought } = choices?.[0]?.delta ?? {};
    if (content) change((turn) => ({ ...turn, text: turn.text + content }));
    if (thought) change((turn) => ({ ...turn, thought: (turn.thought ?? "") + thought }));
    if (usage) used = `${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out`;
  }
  return used;
}
