import { describe, expect, test } from "bun:test";
import { sumOutputTokens, sumPromptTokens } from "../../src/contract/index.ts";
import type { ChatCompletion } from "../../src/provider/index.ts";
import { expectSaid } from "../support/expect-said.ts";
import { faultsOf, schemaMissing } from "../support/openai-schema.ts";
import { recordingsMissing } from "../support/recordings.ts";
import { replyOf } from "../support/reply.ts";
import { saidBy, saidByChunks, type WireChunk, type WireCompletion } from "../support/said.ts";
import { saidIn } from "../support/said-in.ts";
import type { FakeLedger } from "../unit/kernel/support.ts";
import { assemble, whole } from "./assemble.ts";
import { expectOrder } from "./expect-order.ts";
import { chatBy } from "./fixture.ts";
import { type Case, named, requestOf, streamedChats, wholeChats } from "./recorded.ts";
import { streamedForm } from "./streamed-form.ts";

for (const reason of [recordingsMissing, schemaMissing]) if (reason !== undefined) console.log(`Skipped: ${reason}`);

describe.skipIf(recordingsMissing !== undefined)("a chat answer of any provider", () => {
  test.each(named(wholeChats))("%s: whole, as OpenAI would have given it", async (_, one) => {
    const { answer, error, ledger } = await chatBy(one.plugin, requestOf(one, false), replyOf(one.recording));
    expect(error).toBeUndefined();
    if (schemaMissing === undefined) expect(faultsOf("CreateChatCompletionResponse", answer)).toEqual([]);
    expectSaid(saidBy(answer as unknown as WireCompletion), one.recording);
    expectPaid(ledger, one);
  });

  test.each(named(wholeChats))("%s: streamed, the same is said in the one order", async (_, one) => {
    const { answer } = await chatBy(one.plugin, requestOf(one, false), replyOf(one.recording));
    const { chunks, error } = await chatBy(one.plugin, requestOf(one, true), streamedForm(one.recording));
    expect(error).toBeUndefined();
    expectOrder(chunks, true);
    const [streamed, given] = [assemble(chunks), whole(answer as ChatCompletion)];
    if (one.provider === "gemini") for (const said of [streamed, given]) hideCallIds(said.choices);
    expect(streamed.choices).toEqual(given.choices);
    if (saidIn(one.recording).usage !== undefined) expect(streamed.usage).toEqual(given.usage as never);
  });

  test.each(named(streamedChats))("%s: a stream, as OpenAI would have sent it", async (_, one) => {
    const { chunks, error, ledger } = await chatBy(one.plugin, requestOf(one, true), replyOf(one.recording));
    expect(error).toBeUndefined();
    expectOrder(chunks, true);
    if (schemaMissing === undefined) {
      expect(chunks.flatMap((chunk) => faultsOf("CreateChatCompletionStreamResponse", chunk))).toEqual([]);
    }
    expectSaid(saidByChunks(chunks as WireChunk[]), one.recording);
    expectPaid(ledger, one);
    const { stream_options: _options, ...unasked } = requestOf(one, true);
    expectOrder((await chatBy(one.plugin, unasked, replyOf(one.recording))).chunks, false);
  });
});

/** What the provider reported is what the ledger was told. */
function expectPaid(ledger: FakeLedger, { recording }: Case): void {
  const { usage } = saidIn(recording);
  const { outcome, usageSource, meters } = ledger.settlement;
  expect({ outcome, usageSource }).toEqual({
    outcome: "settled",
    usageSource: usage === undefined ? "estimated" : "reported",
  });
  if (usage === undefined) return;
  expect(sumPromptTokens(meters)).toBe(usage.prompt);
  expect(meters.cacheReadToken ?? 0).toBe(usage.cached ?? 0);
  expect(sumOutputTokens(meters)).toBe(usage.completion);
}

/** A provider without ids is given other ones for every answer. */
function hideCallIds(choices: Record<string, unknown>[]): void {
  for (const { calls } of choices) for (const call of calls as { id: string }[]) call.id = "";
}
