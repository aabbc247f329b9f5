import { type ChatUsage, type FigureSums, reportedUnits, sumFigures, UpstreamError } from "../../contract/index.ts";
import {
  type Call,
  type ChatChunk,
  type ChatCompletion,
  type ChatRequest,
  type ChatStream,
  fromIterable,
  type Warn,
} from "../../provider/index.ts";
import { maySendAgain } from "../failed-attempt.ts";
import { toChunks } from "../normalize/answer.ts";
import { StreamReader } from "../streaming.ts";

type Chat = (call: Call<ChatRequest>) => Promise<ChatCompletion | ChatStream>;

/** How many requests one call may become where the provider has no `n`. */
export const fanOutMax = 16;

/**
 * Collects the answers of several requests that serve one call. If one request fails, the others are still paid for, so
 * their choices are returned: fewer than requested.
 *
 * @throws The failure if no request was served; preferably one after which nothing may be sent again.
 */
export async function settleRequests<Answer>(
  requests: readonly Promise<Answer>[],
  warn: Warn,
): Promise<[Answer, ...Answer[]]> {
  const answers: Answer[] = [];
  const failures: unknown[] = [];
  for (const outcome of await Promise.allSettled(requests)) {
    if (outcome.status === "fulfilled") answers.push(outcome.value);
    else failures.push(outcome.reason);
  }
  const [first, ...others] = answers;
  if (first === undefined) throw failures.find((failure) => !mayBeSentAgain(failure)) ?? failures[0];
  if (failures.length > 0) warn(`${failures.length} of ${requests.length} requests failed: ${String(failures[0])}`, []);
  return [first, ...others];
}

function mayBeSentAgain(failure: unknown): boolean {
  return failure instanceof UpstreamError && maySendAgain(failure, true);
}

/** Asks `n` times for one choice each, and combines the answers into one completion. */
export async function fanOutCompletions(chat: Chat, call: Call<ChatRequest>): Promise<ChatCompletion> {
  const single = async (request: Call<ChatRequest>) => {
    const answer = (await chat(request)) as ChatCompletion;
    if (Array.isArray(answer?.choices) && answer.choices.length > 0) return answer;
    throw new UpstreamError("bad_response", "The provider's answer has no choices");
  };
  const answers = await settleRequests(splitChoices(call).map(single), call.warn);
  const choices = answers.flatMap((answer, index) =>
    answer.choices.slice(0, 1).map((choice) => ({ ...choice, index })),
  );
  const { usage: _, ...rest } = answers[0];
  const usage = sumUsage(answers.map((answer) => answer.usage));
  return { ...rest, choices, ...(usage && { usage }) };
}

/** Asks `n` times for a stream of one choice each, and merges the chunks as they come. */
export async function fanOutChunks(chat: Chat, call: Call<ChatRequest>): Promise<ChatStream> {
  const requests = splitChoices(call).map((single) => chat(single));
  const answers = await settleRequests(requests, call.warn);
  // A provider may return a completion although a stream was requested.
  const streams = answers.map((answer) => ("push" in answer ? answer : fromIterable(toChunks(answer))));
  return fromIterable(merge(streams.map((stream) => new StreamReader(stream))));
}

/** A stream that fails leaves the others their end; one that has not begun leaves no choice, unless none has. */
async function* merge(streams: readonly StreamReader<ChatChunk>[]): AsyncGenerator<ChatChunk> {
  const usages: (ChatUsage | undefined)[] = streams.map(() => undefined);
  /** The choice of each stream that has begun. */
  const choices = new Map<number, number>();
  const failures: { index: number; error: unknown }[] = [];
  const next = async (index: number) => {
    try {
      return { index, chunks: await (streams[index] as StreamReader<ChatChunk>).read() };
    } catch (error) {
      failures.push({ index, error });
      return { index, chunks: undefined };
    }
  };
  const waiting = new Map(streams.map((_, index) => [index, next(index)]));
  try {
    while (waiting.size > 0) {
      const { index, chunks } = await Promise.race(waiting.values());
      if (chunks === undefined) {
        waiting.delete(index);
        continue;
      }
      waiting.set(index, next(index));
      for (const { usage, ...chunk } of chunks) {
        if (usage) usages[index] = usage;
        if (chunk.choices.length === 0) continue;
        const place = choices.get(index) ?? choices.size;
        choices.set(index, place);
        yield { ...chunk, choices: chunk.choices.map((choice) => ({ ...choice, index: place })) };
      }
    }
    const broken = failures.find(({ index }) => choices.has(index) || choices.size === 0);
    if (broken !== undefined) throw broken.error;
    const usage = failures.length === 0 ? sumUsage(usages) : undefined;
    if (usage) yield { choices: [], usage };
  } finally {
    for (const index of waiting.keys()) streams[index]?.cancel();
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
  const prompt: FigureSums = {};
  const completion: FigureSums = {};
  for (const usage of usages) {
    if (usage?.completion_tokens === undefined) return undefined;
    sum.prompt_tokens += usage.prompt_tokens;
    sum.completion_tokens = (sum.completion_tokens as number) + usage.completion_tokens;
    sumFigures(prompt, usage.prompt_tokens_details);
    sumFigures(completion, usage.completion_tokens_details);
  }
  for (const { field } of reportedUnits) {
    const amounts = usages.map((usage) => usage?.[field]);
    if (amounts.every((amount) => typeof amount === "number"))
      sum[field] = amounts.reduce((total, amount) => total + Math.ceil(amount), 0);
  }
  sum.total_tokens = sum.prompt_tokens + (sum.completion_tokens as number);
  if (Object.keys(prompt).length > 0) sum.prompt_tokens_details = prompt;
  if (Object.keys(completion).length > 0) sum.completion_tokens_details = completion;
  return sum;
}
