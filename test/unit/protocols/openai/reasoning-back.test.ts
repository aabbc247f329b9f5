import { describe, expect, test } from "bun:test";
import { splitReasoningTags } from "../../../../src/protocols/openai/chat.ts";
import { type ChatOptions, toMessages } from "../../../../src/protocols/openai/request.ts";
import type { Message } from "../../../../src/provider/index.ts";

const call = (id: string) => ({ id, type: "function" as const, function: { name: "look", arguments: "{}" } });
const openrouter: ChatOptions = { reasoningBack: ["reasoning_details", "reasoning"] };

type Sent = Record<string, unknown>;

/** What is sent of a message of the model beside its role. */
function sentOf(message: object, options: ChatOptions, target?: { upstreamId?: string; isForOwnServers?: boolean }) {
  const [sent] = toMessages([{ role: "assistant", content: "Yes", ...message } as Message], options, target);
  const { role: _, ...rest } = sent as unknown as Sent;
  return rest;
}

const gemini = { upstreamId: "google/gemini-3.5-flash" };
const claude = { upstreamId: "anthropic/claude-opus-4.5" };
const deepseek = { upstreamId: "deepseek/deepseek-v4-pro" };
const signature = { type: "reasoning.encrypted", data: "SIG", format: "google-gemini-v1", index: 0 };
const thought = { type: "reasoning.text", text: "Hm", signature: "SIG", format: "anthropic-claude-v1", index: 0 };

describe("what a model reasoned in earlier turns", () => {
  const both = { reasoning_content: "Hm", reasoning: "Hm" };
  test.each<[string, object, ChatOptions, object]>([
    ["goes nowhere unless the provider takes it", both, {}, {}],
    ["goes to the field that the provider names", both, { reasoningBack: ["reasoning"] }, { reasoning: "Hm" }],
    ["is read from any field", { reasoning: "Hm" }, { keepsReasoning: true }, { reasoning_content: "Hm" }],
    ["is no empty text", { reasoning_content: "" }, { reasoningBack: ["reasoning"] }, {}],
  ])("%s", (_, message, options, sent) => {
    expect(sentOf(message, options)).toEqual({ content: "Yes", ...sent });
  });

  test("goes to a server of one's own in both fields, of which each reads one", () => {
    expect(sentOf({ reasoning_content: "Hm" }, {}, { isForOwnServers: true })).toEqual({ content: "Yes", ...both });
    expect(sentOf(both, { reasoningBack: [] }, { isForOwnServers: true })).toEqual({ content: "Yes" });
    const omitting = { messageOmit: ["reasoning"] };
    expect(sentOf(both, omitting, { isForOwnServers: true })).toEqual({ content: "Yes", reasoning_content: "Hm" });
  });

  test("goes between tags before the content, as the model wrote it, and is read from there as it was", () => {
    const options: ChatOptions = { reasoningBack: ["content"] };
    for (const text of ["Hm", "Hm\n", "two\n\nlines", "<think>", "a < b"]) {
      const { content } = sentOf({ reasoning_content: text }, options) as { content: string };
      expect(content.startsWith("<think>\n")).toBe(true);
      const split = splitReasoningTags(content);
      expect([split.content, split.reasoning.trimEnd()]).toEqual(["Yes", text.trimEnd()]);
    }
    expect(sentOf({ content: null, reasoning_content: "Hm" }, options)).toEqual({
      content: "<think>\nHm\n</think>\n\n",
    });
    expect(sentOf({ content: [{ type: "text", text: "Yes" }], reasoning_content: "Hm" }, options).content).toEqual([
      { type: "text", text: "<think>\nHm\n</think>\n\n" },
      { type: "text", text: "Yes" },
    ]);
  });
});

describe("details of reasoning through a router", () => {
  test("go back in place of the text, the pieces of a stream as one", () => {
    const pieces = [
      { ...thought, text: "H", signature: null },
      { ...thought, text: "m", signature: null },
      { type: "reasoning.text", signature: "SIG", format: "anthropic-claude-v1", index: 0 },
      { ...thought, text: "So", index: 1 },
    ];
    const message = { reasoning_content: "HmSo", reasoning_details: pieces };
    const joined = [thought, { ...thought, text: "So", index: 1 }];
    expect(sentOf(message, openrouter, claude)).toEqual({ content: "Yes", reasoning_details: joined });
  });

  test("of another model's are left out, which a model refuses", () => {
    const details = [thought, signature, { type: "reasoning.encrypted", data: "x", format: "openai-responses-v1" }];
    const message = { reasoning_content: "Hm", reasoning_details: details };
    const sentTo = (upstreamId: string) => sentOf(message, openrouter, { upstreamId }).reasoning_details;
    expect(sentTo("anthropic/claude-opus-4.5")).toEqual([thought]);
    expect(sentTo("google/gemini-3.5-flash")).toEqual([signature]);
    expect(sentTo("openai/gpt-5.6")).toEqual([details[2]]);
    expect(sentOf(message, openrouter, deepseek)).toEqual({ content: "Yes", reasoning: "Hm" });
  });

  test("a text that nobody signed does not go to a model that signs it", () => {
    for (const target of [gemini, claude])
      expect(sentOf({ reasoning_content: "Hm" }, openrouter, target)).toEqual({ content: "Yes" });
  });

  test("a call that lost its signature gets the one that stands for it, where the model checks", () => {
    const tool_calls = [call("a"), call("b")];
    const standIn = { ...signature, data: "skip_thought_signature_validator", id: "a" };
    for (const upstreamId of ["google/gemini-3.5-flash", "google/gemini-3-pro", "google/gemini-flash-latest"]) {
      expect(sentOf({ tool_calls }, openrouter, { upstreamId }).reasoning_details).toEqual([standIn]);
    }
    for (const upstreamId of ["google/gemini-2.5-pro", "qwen/qwen3"]) {
      expect(sentOf({ tool_calls }, openrouter, { upstreamId })).toEqual({ content: "Yes", tool_calls });
    }
  });

  test("a signature follows its call to the id that the call has now, for any number of calls and signatures", () => {
    for (let calls = 1; calls <= 4; calls++) {
      for (let kept = 0; kept < 1 << calls; kept++) {
        const tool_calls = Array.from({ length: calls }, (_, at) => call(kept & (1 << at) ? `old${at}` : `new${at}`));
        const details = tool_calls.map((_, at) => ({ ...signature, id: `old${at}`, index: at }));
        const sent = sentOf({ tool_calls, reasoning_details: details }, openrouter, gemini);
        expect((sent.reasoning_details as Sent[]).map(({ id }) => id)).toEqual(tool_calls.map(({ id }) => id));
      }
    }
  });

  test("a call without any reasoning gets the least that DeepSeek and Kimi take", () => {
    const message = { tool_calls: [call("a")] };
    for (const upstreamId of ["deepseek/deepseek-v4-pro", "moonshotai/kimi-k2.5"]) {
      expect(sentOf(message, openrouter, { upstreamId })).toMatchObject({ reasoning: " " });
    }
  });
});
