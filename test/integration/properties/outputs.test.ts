import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { countTokens as cl100k } from "gpt-tokenizer/encoding/cl100k_base";
import { countTokens as o200k } from "gpt-tokenizer/encoding/o200k_base";
import { chunkTokensMax } from "../../../src/kernel/admission.ts";
import { OutputText } from "../../../src/kernel/normalize/output-text.ts";
import { tokensMax } from "../../../src/kernel/normalize/prompt-bounds.ts";
import { messagesFormat } from "../../../src/protocols/messages/passthrough.ts";
import { responsesFormat } from "../../../src/protocols/responses/passthrough.ts";
import { type ChatChunk, fromIterable, type ServerEvent } from "../../../src/provider/index.ts";
import { runs } from "../../support/hostile.ts";
import { httpOf } from "../../unit/http/support.ts";
import { chatModel, createBench, createPlugin } from "../../unit/kernel/support.ts";

/** A part of an answer, as a model writes it. */
type Part = { kind: "text" | "thought"; text: string } | { kind: "call"; name: string; input: Record<string, unknown> };

const words = fc
  .array(fc.constantFrom("the", " weather", " in", " Paris", " is", " fine", "é", "語", "\n", "{", "12", " 🙂"), {
    minLength: 1,
    maxLength: 60,
  })
  .map((some) => some.join(""));
const part: fc.Arbitrary<Part> = fc.oneof(
  words.map((text) => ({ kind: "text" as const, text })),
  words.map((text) => ({ kind: "thought" as const, text })),
  fc.record({
    kind: fc.constant("call" as const),
    name: fc.constantFrom("weather", "read_file"),
    input: fc.dictionary(fc.constantFrom("city", "lines", "id"), fc.oneof(words, fc.integer(), fc.boolean()), {
      minKeys: 1,
      noNullPrototype: true,
    }),
  }),
);
const answers = fc.array(part, { minLength: 1, maxLength: 5 });
/** How a provider writes it: in pieces, whole, or in pieces and whole again. */
const styles = ["pieces", "whole", "both"] as const;
type Style = (typeof styles)[number];

const textOf = (one: Part) => (one.kind === "call" ? JSON.stringify(one.input) : one.text);
/** All that the model wrote. */
const written = (all: readonly Part[]) =>
  all.map((one) => (one.kind === "call" ? one.name : "") + textOf(one)).join("");
const cut = (text: string) =>
  [...text].reduce<string[]>((all, char, at) => {
    if (at % 7 === 0) all.push("");
    all[all.length - 1] += char;
    return all;
  }, []);

function messagesEvents(all: readonly Part[], style: Style): Record<string, unknown>[] {
  return all.flatMap((one, index) => {
    const isWhole = style === "whole";
    const block =
      one.kind === "call"
        ? { type: "tool_use", id: `toolu_${index}`, name: one.name, input: isWhole ? one.input : {} }
        : one.kind === "text"
          ? { type: "text", text: isWhole ? one.text : "" }
          : { type: "thinking", thinking: isWhole ? one.text : "", signature: "" };
    const name = { call: "partial_json", text: "text", thought: "thinking" }[one.kind];
    const type = { call: "input_json_delta", text: "text_delta", thought: "thinking_delta" }[one.kind];
    const pieces = isWhole ? [] : cut(textOf(one));
    return [
      { type: "content_block_start", index, content_block: block },
      ...pieces.map((text) => ({ type: "content_block_delta", index, delta: { type, [name]: text } })),
      { type: "content_block_stop", index },
    ];
  });
}

function responsesEvents(all: readonly Part[], style: Style): Record<string, unknown>[] {
  return all.flatMap((one, output_index) => {
    const text = textOf(one);
    const item = (shown: string) =>
      one.kind === "call"
        ? { type: "function_call", id: `fc_${output_index}`, call_id: "c", name: one.name, arguments: shown }
        : one.kind === "text"
          ? {
              type: "message",
              id: "m",
              role: "assistant",
              content: [{ type: "output_text", text: shown, annotations: [] }],
            }
          : { type: "reasoning", id: "r", summary: [{ type: "summary_text", text: shown }], encrypted_content: "AAAA" };
    const [name, place] = {
      call: ["function_call_arguments", {}],
      text: ["output_text", { content_index: 0 }],
      thought: ["reasoning_summary_text", { summary_index: 0 }],
    }[one.kind] as [string, object];
    const at = { output_index, item_id: "x", ...place };
    const pieces = style === "whole" ? [] : cut(text);
    const done = one.kind === "call" ? { arguments: text, name: one.name } : { text };
    return [
      { type: "response.output_item.added", output_index, item: item("") },
      ...pieces.map((delta) => ({ type: `response.${name}.delta`, ...at, delta, obfuscation: "xyzxyz" })),
      ...(style === "both" ? [{ type: `response.${name}.done`, ...at, ...done }] : []),
      ...(style === "pieces" ? [] : [{ type: "response.output_item.done", output_index, item: item(text) }]),
    ];
  });
}

function chatChunks(all: readonly Part[], style: Style): ChatChunk[] {
  const deltas = all.flatMap((one, index): object[] => {
    const text = textOf(one);
    const pieces = style === "whole" ? [text] : cut(text);
    if (one.kind === "text") return pieces.map((content) => ({ content }));
    if (one.kind === "call") {
      return pieces.map((piece, at) => ({
        tool_calls: [
          {
            index,
            ...(at === 0 && { id: `call_${index}` }),
            function: { ...(at === 0 && { name: one.name }), arguments: piece },
          },
        ],
      }));
    }
    const thoughts = style === "whole" ? [] : pieces.map((reasoning_content) => ({ reasoning_content }));
    const details = { reasoning_details: [{ type: "reasoning.text", text, signature: "c2lnbmVk" }] };
    return style === "pieces" ? thoughts : [...thoughts, details];
  });
  return deltas.map((delta) => ({ choices: [{ index: 0, delta }] })) as ChatChunk[];
}

const formats = { messages: messagesFormat, responses: responsesFormat };
const eventsOf = { messages: messagesEvents, responses: responsesEvents };

describe("the text of an answer", () => {
  test.each(["messages", "responses"] as const)("counts once, however it comes: %s", (protocol) => {
    fc.assert(
      fc.property(answers, fc.constantFrom(...styles), (all, style) => {
        const output = new OutputText();
        let [text, bytes] = ["", 0];
        for (const event of eventsOf[protocol](all, style)) {
          formats[protocol].readOutput(event, output);
          const added = output.take();
          text += added;
          bytes += tokensMax(added);
        }
        expect(text.length).toBe(written(all).length);
        expect(bytes).toBeGreaterThanOrEqual(Math.max(cl100k(written(all)), o200k(written(all))));
      }),
      runs(300),
    );
  });

  test("of chat is held for by at least its tokens", () => {
    fc.assert(
      fc.property(answers, fc.constantFrom(...styles), (all, style) => {
        const bytes = chatChunks(all, style).reduce((sum, chunk) => sum + chunkTokensMax(chunk), 0);
        expect(bytes).toBeGreaterThanOrEqual(Math.max(cl100k(written(all)), o200k(written(all))));
      }),
      runs(300),
    );
  });
});

describe("a stream that breaks off without a report", () => {
  const start = {
    messages: {
      type: "message_start",
      message: { id: "m", type: "message", role: "assistant", content: [], model: "u" },
    },
    responses: {
      type: "response.created",
      response: { id: "r", object: "response", status: "in_progress", output: [] },
    },
  };
  const model = { ...chatModel, contextTokens: 100_000, outputTokensMax: 50_000 };

  /** Serves answers, and says what output each is charged. To make the gateway takes ten times as long as a call. */
  function createCharge(protocol: "messages" | "responses" | "chat") {
    let [all, style]: [readonly Part[], Style] = [[], "whole"];
    async function* serve(events: readonly object[]): AsyncGenerator<ServerEvent> {
      for (const event of events) yield { event: (event as { type: string }).type, data: JSON.stringify(event) };
    }
    const native = (name: "messages" | "responses") => async () => ({
      content: serve([start[name], ...eventsOf[name](all, style)]),
      readUsage: () => undefined,
    });
    const plugin = createPlugin(
      {
        messages: native("messages"),
        responses: native("responses"),
        chat: async () => fromIterable(chatChunks(all, style)),
      },
      { models: [model] },
    );
    const { kernel, ledger, clock } = createBench([plugin]);
    const { post } = httpOf([plugin], { kernel, ledger, now: clock.now });
    const [path, field] = {
      messages: ["messages", "messages"],
      responses: ["responses", "input"],
      chat: ["chat/completions", "messages"],
    }[protocol] as [string, string];
    const body = { model: model.id, stream: true, max_tokens: 40_000, [field]: [{ role: "user", content: "Hello" }] };
    if (protocol === "responses") Object.assign(body, { max_tokens: undefined, max_output_tokens: 40_000 });
    return async (...served: [readonly Part[], Style]): Promise<number> => {
      [all, style] = served;
      ledger.settlements.length = 0;
      // So that the streams that broke off before open no circuit.
      Object.assign(kernel, { registry: createBench([plugin]).kernel.registry });
      await (await post(path, body)).text();
      expect(ledger.settlement.usageSource).toBe("estimated");
      return ledger.settlement.meters.outputToken ?? 0;
    };
  }

  test.each(["messages", "responses", "chat"] as const)(
    "costs the tokens of what was sent, however it came: %s",
    async (protocol) => {
      const chargeOf = createCharge(protocol);
      await fc.assert(
        fc.asyncProperty(answers, fc.constantFrom(...styles), async (all, style) => {
          const [charge, tokens] = [await chargeOf(all, style), o200k(written(all))];
          // Where the pieces of a text meet, it may have a token more or less.
          expect(charge).toBeWithin(tokens - 2 * all.length, tokens + 2 * all.length + 1);
        }),
        runs(60),
      );
    },
  );
});
