import { toMessage } from "../../data/api.ts";
import { sessionItemPrefix, signedOut } from "../../data/session.ts";
import { formatUsd } from "../../format.ts";
import { createStore } from "../../kit/create-store.ts";
import { readList, writeItem } from "../../kit/storage.ts";
import { type ChatFields, mergeToolCalls, type Turn, toRequestBody } from "./chat-request.ts";
import { callApiWithJson, refreshUsage } from "./playground-key.ts";
import { type ChunkUsage, readChunks } from "./read-chunks.ts";

interface Conversation {
  readonly turns: readonly Turn[];
  readonly isRunning: boolean;
}

/**
 * A streaming chat. It goes on while another page is open, and its turns are kept as long as the tab, but not longer than
 * the session: in the storage of the tab, as far as they fit.
 */
function createConversation(name: string) {
  const storageKey = `${sessionItemPrefix}${name}`;
  const store = createStore<Conversation>({
    turns: readList(storageKey, "sessionStorage") as Turn[],
    isRunning: false,
  });
  let running: AbortController | undefined;

  const set = (change: Partial<Conversation>) => store.set({ ...store.get(), ...change });
  const change = (next: (answer: Turn) => Turn) => {
    const { turns } = store.get();
    set({ turns: turns.map((turn, place) => (place === turns.length - 1 ? next(turn) : turn)) });
  };
  const clear = () => {
    running?.abort();
    set({ turns: [] });
    saveTurns(storageKey, []);
  };
  addEventListener(signedOut, clear);

  /** Adds turns of the user and streams the answer to them. */
  const send = async (fields: ChatFields, added: readonly Turn[]) => {
    const turns: readonly Turn[] = [...store.get().turns, ...added];
    const controller = new AbortController();
    running = controller;
    set({ turns: [...turns, { role: "assistant", text: "" }], isRunning: true });
    try {
      const body = { ...toRequestBody(fields, turns), stream_options: { include_usage: true } };
      const text = await streamAnswer(body, controller.signal, change);
      if (!controller.signal.aborted) change((turn) => ({ ...turn, end: { state: "whole", text } }));
    } catch (error) {
      const isStopped = controller.signal.aborted;
      const text = isStopped ? "Stopped. The output so far is charged." : toMessage(error);
      if (store.get().turns.length > 0) {
        change((turn) => ({ ...turn, end: { state: isStopped ? "stopped" : "failed", text } }));
      }
    } finally {
      set({ isRunning: false });
      saveTurns(storageKey, store.get().turns);
      refreshUsage();
    }
  };

  return {
    use: store.use,
    send,
    add: (turns: readonly Turn[]) => set({ turns: [...store.get().turns, ...turns] }),
    stop: () => running?.abort(),
    clear,
  };
}

/** The second one is for a comparison. */
export const conversations = [createConversation("first"), createConversation("second")] as const;

/** Appends the answer to the last turn as it arrives; returns its tokens, cost, times and plugin. */
async function streamAnswer(
  body: object,
  signal: AbortSignal,
  change: (next: (answer: Turn) => Turn) => void,
): Promise<string> {
  const startedAt = performance.now();
  let firstAt: number | undefined;
  let used: ChunkUsage | undefined;
  const response = await callApiWithJson("/chat/completions", body, signal);
  for await (const { choices, usage } of readChunks(response)) {
    const { content, reasoning_content: reasoning, tool_calls: calls } = choices?.[0]?.delta ?? {};
    if (content || reasoning || calls) firstAt ??= performance.now();
    if (content) change((turn) => ({ ...turn, text: turn.text + content }));
    if (reasoning) change((turn) => ({ ...turn, reasoning: (turn.reasoning ?? "") + reasoning }));
    if (calls) change((turn) => ({ ...turn, toolCalls: mergeToolCalls(turn.toolCalls ?? [], calls) }));
    if (usage) used = usage;
  }
  const seconds = (until: number) => `${((until - startedAt) / 1000).toFixed(1)} s`;
  const parts = [
    used && `${used.prompt_tokens} tokens in, ${used.completion_tokens} out`,
    used?.cost !== undefined && formatUsd(used.cost),
    firstAt !== undefined && `first token ${seconds(firstAt)}`,
    `total ${seconds(performance.now())}`,
    response.headers.get("x-modelgate-route"),
  ];
  return parts.filter(Boolean).join(" · ");
}

/** Without what does not fit, such as large attachments: those turns last until a reload. */
function saveTurns(storageKey: string, turns: readonly Turn[]): void {
  writeItem(storageKey, null, "sessionStorage");
  if (turns.length > 0) writeItem(storageKey, JSON.stringify(turns), "sessionStorage");
}
