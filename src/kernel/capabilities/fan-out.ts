import type { Call, ChatChunk, ChatCompletion, ChatRequest, ChatUsage } from "../../contract/index.ts";
import { toChunks } from "../normalize/completion.ts";
import type { Route } from "../routing/registry.ts";
import { closeIterator } from "./iterators.ts";

type Chat = (call: Call<ChatRequest>) => Promise<ChatCompletion | AsyncIterable<ChatChunk>>;

/** How many requests one call may become where the provider has no `n`. */
export const fanOutMax = 16;

/** Asks `n` times for one choice each, and combines the answers into one completion. */
export async function fanOutCompletions(chat: Chat, call: Call<ChatRequest>): Promise<ChatCompletion> {
  const answers = (await Promise.all(splitChoices(call).map((single) => chat(single)))) as ChatCompletion[];
  const choices = answers.flatMap((answer, index) =>
    answer.choices.slice(0, 1).map((choice) => ({ ...choice, index })),
  );
  const { usage: _, ...rest } = answers[0] as ChatCompletion;
  const usage = sumUsage(answers.map((answer) => answer.usage));
  return { ...rest, choices, ...(usage && { usage }) };
}

/** Asks `n` times for a stream of one choice each, and merges the chunks as they come. */
export async function fanOutChunks(chat: Chat, call: Call<ChatRequest>): Promise<AsyncIterable<ChatChunk>> {
  const answers = await Promise.all(splitChoices(call).map((single) => chat(single)));
  return merge(answers.map(toIterator));
}

/** A provider may return a completion where a stream was asked for. */
function toIterator(answer: ChatCompletion | AsyncIterable<ChatChunk>): AsyncIterator<ChatChunk> {
  if (Symbol.asyncIterator in answer) return answer[Symbol.asyncIterator]();
  const chunks = toChunks(answer)[Symbol.iterator]();
  return { next: async () => chunks.next() };
}

async function* merge(streams: AsyncIterator<ChatChunk>[]): AsyncGenerator<ChatChunk> {
  const usages: (ChatUsage | undefined)[] = streams.map(() => undefined);
  const next = async (index: number) => ({ index, result: await (streams[index] as AsyncIterator<ChatChunk>).next() });
  const waiting = new Map(streams.map((_, index) => [index, next(index)]));
  try {
    while (waiting.size > 0) {
      const { index, result } = await Promise.race(waiting.values());
      if (result.done) {
        waiting.delete(index);
        continue;
      }
      waiting.set(index, next(index));
      const { usage, ...chunk } = result.value;
      if (usage) usages[index] = usage;
      if (chunk.choices.length > 0) yield { ...chunk, choices: chunk.choices.map((choice) => ({ ...choice, index })) };
    }
    const usage = sumUsage(usages);
    if (usage) yield { choices: [], usage };
  } finally {
    for (const pending of waiting.values()) pending.catch(() => undefined);
    for (const index of waiting.keys()) closeIterator(streams[index]);
  }
}

/** One call for each choice. A seed is incremented, or all answers would be the same. */
function splitChoices(call: Call<ChatRequest>): Call<ChatRequest>[] {
  const { n, seed, ...request } = call.request;
  return Array.from({ length: n as number }, (_, index) => {
    return { ...call, request: typeof seed === "number" ? { ...request, seed: seed + index } : request };
  });
}

/** The sum, or `undefined` when any part is unknown. */
function sumUsage(usages: (ChatUsage | undefined)[]): ChatUsage | undefined {
  const sum: ChatUsage = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };
  const prompt: Record<string, number> = {};
  const completion: Record<string, number> = {};
  for (const usage of usages) {
    if (usage?.completion_tokens === undefined) return undefined;
    sum.prompt_tokens += usage.prompt_tokens;
    sum.completion_tokens = (sum.completion_tokens as number) + usage.completion_tokens;
    addParts(prompt, usage.prompt_tokens_details);
    addParts(completion, usage.completion_tokens_details);
  }
  sum.total_tokens = sum.prompt_tokens + (sum.completion_tokens as number);
  if (Object.keys(prompt).length > 0) sum.prompt_tokens_details = prompt;
  if (Object.keys(completion).length > 0) sum.completion_tokens_details = completion;
  return sum;
}

function addParts(sum: Record<string, number>, parts: Record<string, unknown> | null | undefined): void {
  for (const [name, amount] of Object.entries(parts ?? {})) {
    if (typeof amount !== "number") continue;
    const before = sum[name];
    sum[name] = before === undefined ? amount : before + amount;
  }
}

/** Whether a route makes fewer choices at a time than are asked for, so that it is asked once for each. */
export function needsFanOut({ plugin, model }: Pick<Route, "plugin" | "model">, { n }: ChatRequest): boolean {
  // The Responses protocol has no `n`.
  const most = model.endpoint === "responses" ? 1 : plugin.maxChoices.chat;
  return n !== undefined && n !== null && most !== undefined && n > most;
}
