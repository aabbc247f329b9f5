/** Payloads of a provider's chat stream, made for tests of what goes wrong in one. */
const head = { id: "chatcmpl-upstream", object: "chat.completion.chunk", created: 1_790_000_000, model: "upstream" };

/** A chunk with a piece of the first choice. */
export const textChunk = (content: string) => ({
  ...head,
  choices: [{ index: 0, delta: { content }, logprobs: null, finish_reason: null }],
});

/** The chunk that ends the first choice. */
export const finishChunk = (finish_reason = "stop") => ({
  ...head,
  choices: [{ index: 0, delta: {}, logprobs: null, finish_reason }],
});

/** The chunk that reports usage, in whatever way a test wants it. */
export const usageChunk = (usage: unknown) => ({ ...head, choices: [], usage });

/** A whole answer with the given usage; without one, the member is left out. */
export const completionOf = (content: string, usage?: unknown) => ({
  ...head,
  object: "chat.completion",
  choices: [
    { index: 0, message: { role: "assistant", content, refusal: null }, logprobs: null, finish_reason: "stop" },
  ],
  ...(usage === undefined ? {} : { usage }),
});
