import type { ChatChunk, ChatCompletion } from "../../contract/index.ts";

/** A whole answer as the chunks of a stream, for providers that do not stream it. */
export function chunksOf(completion: ChatCompletion): ChatChunk[] {
  const choices = completion.choices.map(({ message, finish_reason }, index) => {
    const { role: _, ...delta } = message;
    return { index, delta: delta as ChatChunk["choices"][number]["delta"], finish_reason };
  });
  return [
    { choices: choices.map(({ index, delta }) => ({ index, delta })) },
    {
      choices: choices.map(({ index, finish_reason }) => ({
        index,
        delta: {},
        finish_reason: finish_reason ?? "stop",
      })),
    },
    ...(completion.usage ? [{ choices: [], usage: completion.usage }] : []),
  ];
}
