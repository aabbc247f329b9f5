import { describe, expect, test } from "bun:test";
import type { ChatCompletion } from "modelgate/plugin";
import { type ChatUsage, toMeters } from "../../../../src/contract/index.ts";
import { fromMessage, MessagesOutboundStream } from "../../../../src/protocols/messages/provider-stream.ts";
import type { AnswerBlock, MessageAnswer } from "../../../../src/protocols/messages/schema.ts";

import { faultsOf, schemaMissing } from "../../../support/openai-schema.ts";
import { type Recording, recordingsMissing, recordingsOf } from "../../../support/recordings.ts";
import { assemble, drain, eventsFrom, eventsOf, plain } from "./support.ts";

const recordings = recordingsOf("anthropic").filter(({ capability }) => capability !== "count-tokens");
if (recordingsMissing !== undefined) console.warn(recordingsMissing);
if (schemaMissing !== undefined) console.warn(schemaMissing);

const answered = recordings.filter(({ status, path }) => status === 200 && !path.includes("errors/"));
const whole = answered
  .filter(({ path }) => path.endsWith(".json"))
  .map((recording) => [recording.path, recording] as const);
const streamed = answered
  .filter(({ path }) => !path.endsWith(".json"))
  .map((recording) => [recording.path, recording] as const);
describe.if(recordingsMissing === undefined)("over every recording", () => {
  test.each(whole)("the answer of %s keeps its text, calls, thoughts and usage", (_, recording) => {
    const answer = JSON.parse(textOf(recording)) as MessageAnswer;
    const completion = fromMessage(answer, plain, 1_700_000_000_000);
    const [choice] = completion.choices;
    const blocks = answer.content ?? [];
    expect(choice?.message.content ?? "").toBe(joined(blocks, "text"));
    expect(choice?.message.reasoning_content ?? "").toBe(joined(blocks, "thinking"));
    const calls = choice?.message.tool_calls ?? [];
    expect(
      calls.map((call) => ({ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) })),
    ).toEqual(
      blocks.filter(({ type }) => type === "tool_use").map(({ id, name, input }) => ({ id, name, input }) as never),
    );
    expect(new Set(calls.map(({ id }) => id)).size).toBe(calls.length);
    expectUsage(completion.usage, answer.usage as never);
    if (schemaMissing !== undefined) return;
    expect(faultsOf("CreateChatCompletionResponse", finishedByKernel(completion))).toEqual([]);
  });

  test.each(streamed)("the stream of %s says what a whole answer of its blocks would say", async (_, recording) => {
    const { chunks, error } = await drain(new MessagesOutboundStream(eventsOfRecording(recording), plain));
    expect(error).toBeUndefined();
    const { message, finish, usage } = assemble(chunks);
    const answer = await answerOf(recording);
    const completion = fromMessage(answer, plain, 0);
    expect(parsed(message)).toEqual(parsed(completion.choices[0]?.message));
    expect(finish).toBe(completion.choices[0]?.finish_reason ?? null);
    expect(usage).toEqual(completion.usage);
    expectUsage(usage, answer.usage as never);
    expectOrder(chunks);
    if (schemaMissing !== undefined) return;
    const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model: "m" };
    for (const chunk of chunks)
      expect(faultsOf("CreateChatCompletionStreamResponse", { ...head, ...chunk })).toEqual([]);
  });
});

/** A message with the arguments of its calls as the values they stand for: only their white space may differ. */
function parsed(message: ChatCompletion["choices"][number]["message"] | undefined): unknown {
  const calls = message?.tool_calls?.map(({ id, function: called }) => [id, called.name, JSON.parse(called.arguments)]);
  return { ...message, tool_calls: calls };
}

function textOf({ body }: Recording): string {
  return new TextDecoder().decode(body);
}

function eventsOfRecording(recording: Recording) {
  if (recording.path.endsWith(".sse")) return eventsOf(recording.body);
  return eventsFrom(textOf(recording).trim().split("\n"));
}

function joined(blocks: AnswerBlock[], field: "text" | "thinking"): string {
  return blocks
    .filter(({ type }) => type === field)
    .map((block) => block[field])
    .join("");
}

/** The whole answer that a stream amounts to, put together without our translation. */
async function answerOf(recording: Recording): Promise<MessageAnswer> {
  const answer: MessageAnswer & { usage: Record<string, unknown> } = { content: [], usage: {} };
  const json: string[] = [];
  for await (const { data } of eventsOfRecording(recording)) {
    const event = JSON.parse(data);
    const block = (answer.content as AnswerBlock[])[event.index];
    if (event.type === "message_start") Object.assign(answer.usage, event.message.usage);
    if (event.type === "content_block_start")
      (answer.content as AnswerBlock[])[event.index] = { ...event.content_block };
    if (event.type === "message_delta")
      Object.assign(answer, event.delta, { usage: { ...answer.usage, ...event.usage } });
    if (event.type !== "content_block_delta" || block === undefined) continue;
    const { type, text, thinking, signature, partial_json } = event.delta;
    if (type === "text_delta") block.text += text;
    if (type === "thinking_delta") block.thinking += thinking;
    if (type === "signature_delta") block.signature += signature;
    if (type === "input_json_delta") json[event.index] = (json[event.index] ?? "") + partial_json;
  }
  json.forEach((text, index) => {
    const block = (answer.content as AnswerBlock[])[index];
    if (block !== undefined) block.input = JSON.parse(text === "" ? "{}" : text);
  });
  return answer;
}

function expectUsage(usage: unknown, provider: Record<string, number>): void {
  const read = provider.cache_read_input_tokens ?? 0;
  const written = provider.cache_creation_input_tokens ?? 0;
  const prompt = (provider.input_tokens ?? Number.NaN) + read + written;
  const output = provider.output_tokens ?? Number.NaN;
  expect(usage).toMatchObject({ prompt_tokens: prompt, completion_tokens: output, total_tokens: prompt + output });
  if ("cache_read_input_tokens" in provider) {
    expect(usage).toMatchObject({ prompt_tokens_details: { cached_tokens: read, cache_write_tokens: written } });
    const meters = toMeters(usage as ChatUsage);
    expect([meters?.inputToken, meters?.cacheReadToken ?? 0]).toEqual([provider.input_tokens as number, read]);
    expect((meters?.cacheWriteToken ?? 0) + (meters?.cacheWrite1hToken ?? 0)).toBe(written);
  }
}

/** Role first, then the pieces, then one finish, then the usage without a choice. */
function expectOrder(chunks: { choices: { delta: object; finish_reason?: string | null }[] }[]): void {
  expect(chunks[0]?.choices[0]?.delta).toMatchObject({ role: "assistant", refusal: null });
  expect(chunks.at(-1)?.choices).toEqual([]);
  expect(chunks.filter(({ choices }) => choices[0]?.finish_reason)).toEqual([chunks.at(-2) as never]);
  // The explanation of a filter comes with the end, by which it counts as no output of the model.
  const { refusal: _, ...delta } = (chunks.at(-2)?.choices[0]?.delta ?? { content: "none" }) as Record<string, unknown>;
  expect(delta).toEqual({});
}

function finishedByKernel(completion: object): object {
  const { choices } = completion as { choices: object[] };
  return {
    ...completion,
    id: "chatcmpl-1",
    model: "m",
    choices: choices.map((choice) => ({ logprobs: null, ...choice })),
  };
}
