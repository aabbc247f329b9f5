import { describe, expect, test } from "bun:test";
import type { ChatCompletion, ChatRequest } from "../../../../src/provider/index.ts";
import { fromIterable } from "../../../../src/provider/index.ts";
import { chatCall, createBench, createPlugin, runCall } from "../support.ts";

const completion = (): ChatCompletion => ({
  id: "1",
  object: "chat.completion",
  created: 1,
  model: "m",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 3, completion_tokens: 1, total_tokens: 4 },
});
const chunks = () => [
  { choices: [{ index: 0, delta: { role: "assistant" as const, content: "" } }] },
  ...["He", "l", "lo"].map((content) => ({ choices: [{ index: 0, delta: { content } }] })),
  { choices: [{ index: 0, delta: {}, finish_reason: "stop" as const }], usage: completion().usage ?? null },
];

/** Runs a call. Returns how many turns of the queue of promises it took, and the messages that the plugin got. */
async function run(
  stream: boolean,
  rules: Parameters<ReturnType<typeof createBench>["kernel"]["registry"]["withPolicies"]>[0],
) {
  let seen: ChatRequest | undefined;
  const { kernel } = createBench([
    createPlugin({
      chat: async ({ request }) => {
        seen = request;
        return (stream ? fromIterable(chunks()) : completion()) as never;
      },
    }),
  ]);
  kernel.registry = kernel.registry.withPolicies(rules, new Map());
  const written: unknown[] = [];
  const sink = { open: () => undefined, write: (chunk: never) => void written.push(chunk), pass: () => undefined };
  const call = chatCall(stream ? { stream } : {}, stream ? { sink: sink as never } : {});
  let [turns, isOver] = [0, false];
  const running = runCall(kernel, call).finally(() => {
    isOver = true;
  });
  while (!isOver && turns < 10_000) {
    turns++;
    await undefined;
  }
  await running;
  return {
    turns,
    isSameBody: seen?.messages === call.request.body.messages,
    written: written.length,
    guard: call.run?.guard,
  };
}

const elsewhere = { policy: "a", order: 0, accountId: "another", keyId: "", modelId: "", onFailure: "closed" } as const;

describe.each([false, true])("a call that no policy applies to (stream: %p)", (stream) => {
  test("awaits and copies the same as where no policy is at all", async () => {
    const first = await run(stream, []);
    expect(first).toMatchObject({ isSameBody: true, guard: undefined });
    expect(await run(stream, [elsewhere])).toEqual(first);
    // Where one applies, it is seen.
    const other = await run(stream, [{ ...elsewhere, accountId: "", policy: "none", onFailure: "open" }]);
    expect(other.turns).toBeGreaterThan(first.turns);
  });
});
