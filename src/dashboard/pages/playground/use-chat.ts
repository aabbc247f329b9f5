import { useRef, useState } from "react";
import { ApiError, toMessage } from "../../data/api.ts";
import { callApiWithJson, refreshUsage } from "../../data/playground-key.ts";

/** The parts of a streamed chunk that are shown. */
interface Chunk {
  readonly choices?: readonly {
    readonly delta?: { readonly content?: string | null; readonly reasoning_content?: string | null };
    readonly finish_reason?: string | null;
  }[];
  readonly usage?: { readonly prompt_tokens: number; readonly completion_tokens: number } | null;
  readonly error?: unknown;
}

export interface Turn {
  readonly role: "user" | "assistant";
  readonly text: string;
  /** The reasoning of the model, if it sends any. */
  readonly reasoning?: string;
  /** How the response ended; absent while it streams. */
  readonly end?: { readonly state: "whole" | "stopped" | "failed"; readonly text: string };
}

/** The fields of the request besides the messages. */
export interface ChatFields {
  readonly model: string;
  readonly system: string;
  readonly temperature: string;
  readonly max_tokens: string;
}

export function toRequestBody({ model, system, temperature, max_tokens }: ChatFields, turns: readonly Turn[]) {
  const messages = turns.filter(({ text }) => text !== "").map(({ role, text }) => ({ role, content: text }));
  return {
    model,
    messages: [...(system.trim() === "" ? [] : [{ role: "system", content: system }]), ...messages],
    ...(temperature !== "" && { temperature: Number(temperature) }),
    ...(max_tokens !== "" && { max_tokens: Number(max_tokens) }),
    stream: true,
  };
}

/** A streaming chat that can be stopped. */
export function useChat(fields: ChatFields) {
  const [turns, setTurns] = useState<readonly Turn[]>([]);
  const running = useRef<AbortController>(undefined);
  const [isRunning, setRunning] = useState(false);
  const change = (next: (answer: Turn) => Turn) =>
    setTurns((known) => known.map((turn, at) => (at === known.length - 1 ? next(turn) : turn)));

  const send = async (text: string) => {
    const sent: readonly Turn[] = [...turns, { role: "user", text }];
    setTurns([...sent, { role: "assistant", text: "" }]);
    const controller = new AbortController();
    running.current = controller;
    setRunning(true);
    const startedAt = performance.now();
    try {
      const body = { ...toRequestBody(fields, sent), stream_options: { include_usage: true } };
      const response = await callApiWithJson("/chat/completions", body, controller.signal);
      const usage = await show(response, change);
      const took = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
      const route = response.headers.get("x-modelgate-route");
      change((turn) => ({
        ...turn,
        end: { state: "whole", text: [usage, took, route].filter((part) => part !== null && part !== "").join(" · ") },
      }));
    } catch (error) {
      const isStopped = controller.signal.aborted;
      const text = isStopped ? "Stopped. The output so far is charged." : toMessage(error);
      change((turn) => ({ ...turn, end: { state: isStopped ? "stopped" : "failed", text } }));
    } finally {
      setRunning(false);
      refreshUsage();
    }
  };

  return { turns, isRunning, send, stop: () => running.current?.abort(), clear: () => setTurns([]) };
}

/** Appends chunks to the response as they arrive; returns the usage. */
async function show(response: Response, change: (next: (answer: Turn) => Turn) => void): Promise<string> {
  let used = "";
  if (response.body === null) return used;
  for await (const { choices, usage } of readChunks(response.body)) {
    const { content, reasoning_content: reasoning } = choices?.[0]?.delta ?? {};
    if (content) change((turn) => ({ ...turn, text: turn.text + content }));
    if (reasoning) change((turn) => ({ ...turn, reasoning: (turn.reasoning ?? "") + reasoning }));
    if (usage) used = `${usage.prompt_tokens} tokens in, ${usage.completion_tokens} out`;
  }
  return used;
}

/** Parses the chunks of a streamed chat. @throws {ApiError} If the stream ends with an error. */
async function* readChunks(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<Chunk> {
  let rest = "";
  for await (const text of decodeText(body)) {
    const lines = (rest + text).split("\n");
    rest = lines.pop() ?? "";
    for (const line of lines) {
      if (!line.startsWith("data: ") || line === "data: [DONE]") continue;
      const chunk = JSON.parse(line.slice(6)) as Chunk;
      if (chunk.error !== undefined) throw new ApiError(500, chunk);
      yield chunk;
    }
  }
}

/** Not every browser supports `for await` over a stream. */
async function* decodeText(body: ReadableStream<Uint8Array<ArrayBuffer>>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      yield value;
    }
  } finally {
    void reader.cancel().catch(() => undefined);
  }
}
