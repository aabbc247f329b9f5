import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { StreamNormalizer } from "../../../../src/kernel/normalize/answer.ts";
import { UsageMeter } from "../../../../src/kernel/normalize/usage-meter.ts";
import type { ChatChunk, ChunkChoice, ToolCallDelta } from "../../../../src/provider/index.ts";
import { finishChunk, textChunk, usageChunk } from "../streams.ts";

const head = { id: "chatcmpl-1", created: 1, model: "chat-1" };

function tidierOf(includeUsage = false) {
  const usageMeter = new UsageMeter(async () => ({}));
  const { output } = usageMeter;
  return { normalizer: new StreamNormalizer(head, usageMeter, { includeUsage }), usageMeter, output };
}

/** Tidies pieces; each is cloned, as the tidier works on what it is given. */
function tidied(...pieces: ChatChunk[]): ChunkChoice[] {
  const { normalizer } = tidierOf();
  return pieces.flatMap((piece) => {
    return normalizer.push(structuredClone(piece)).flatMap(({ choices }) => choices);
  });
}

const deltaChunk = (delta: Record<string, unknown>, index = 0): ChatChunk => ({ choices: [{ index, delta }] });
const toolChunk = (...pieces: Record<string, unknown>[]) => deltaChunk({ tool_calls: pieces as ToolCallDelta[] });
const toolPiece = (index: number | undefined, id: string | undefined, name?: string, text = "") => ({
  ...(index !== undefined && { index }),
  ...(id !== undefined && { id }),
  function: { ...(name !== undefined && { name }), arguments: text },
});

/** The tool calls as a client puts them together: by index, arguments concatenated. */
function assembled(choices: ChunkChoice[]) {
  const calls: { id: string; name: string; text: string }[] = [];
  for (const piece of choices.flatMap(({ delta }) => delta.tool_calls ?? [])) {
    const index = piece.index as number;
    const call = calls[index];
    if (call === undefined) {
      calls[index] = { id: piece.id as string, name: piece.function?.name as string, text: "" };
      expect(piece.type).toBe("function");
    } else expect([piece.id, piece.function?.name]).toEqual([undefined, undefined]);
    (calls[index] as { text: string }).text += piece.function?.arguments;
  }
  return calls;
}

test("text that a choice has beside its delta is counted, as it goes to the client", () => {
  const { normalizer, output } = tidierOf();
  normalizer.push({ choices: [{ index: 0, delta: { content: "ab" }, text: "cd" } as ChunkChoice] });
  expect(output.sample.text).toBe("abcd");
});

describe("a tidied piece", () => {
  test("carries our head, and nothing of the provider's but fingerprint and tier", () => {
    const { normalizer } = tidierOf();
    const theirs = {
      id: "x",
      model: "y",
      object: "z",
      created: 9,
      x_groq: {},
      system_fingerprint: "fp",
      service_tier: 1,
    };
    expect(normalizer.push({ ...textChunk("Hi"), ...theirs } as unknown as ChatChunk).at(-1)).toEqual({
      ...head,
      object: "chat.completion.chunk",
      system_fingerprint: "fp",
      choices: [{ index: 0, delta: { content: "Hi" }, logprobs: null, finish_reason: null }],
    });
  });

  test("has the role in the first piece of each choice, and there only", () => {
    const role = (index: number) => deltaChunk({ role: "assistant", content: "x" }, index);
    const roles = tidied(role(0), role(0), role(1), textChunk("y", 1)).map(({ delta }) => delta.role);
    expect(roles).toEqual(["assistant", undefined, undefined, "assistant", undefined, undefined]);
  });

  test("with words and a reason is three: the role, the words, the reason", () => {
    const whole = { choices: [{ index: 0, delta: { content: "Hi" }, finish_reason: "stop" as const }] };
    expect(tidied(whole).map(({ delta, finish_reason }) => [delta, finish_reason])).toEqual([
      [{ role: "assistant", content: "", refusal: null }, null],
      [{ content: "Hi" }, null],
      [{}, "stop"],
    ]);
  });

  test("with a reason to make calls says that the answer was cut where the arguments of one break off", () => {
    const finishes = (text: string) =>
      tidied(toolChunk(toolPiece(0, "a", "f")), toolChunk(toolPiece(0, undefined, undefined, text)), finishChunk())
        .map(({ finish_reason }) => finish_reason)
        .filter(Boolean);
    expect(finishes('{"city":"Pa')).toEqual(["length"]);
    expect(finishes('{"city":"Paris"}')).toEqual(["tool_calls"]);
  });

  test("that says nothing is none", () => {
    expect(
      tidied(textChunk("Hi"), deltaChunk({}), deltaChunk({ content: "" }), deltaChunk({ role: "assistant" })),
    ).toHaveLength(2);
  });

  test("that is the first has content, or null beside tool calls", () => {
    expect(tidied(deltaChunk({}))[0]?.delta.content).toBe("");
    expect(tidied(deltaChunk({ reasoning_content: "Hm" }))[0]?.delta).toMatchObject({ content: "" });
    expect(tidied(toolChunk(toolPiece(0, "a", "f")))[0]?.delta.content).toBeNull();
  });

  test.each([undefined, null, -1, 1.5, "0", 1000])("has a sound index where the provider wrote %p", (index) => {
    const [choice] = tidied({ choices: [{ index: index as number, delta: { content: "x" } }] });
    expect(choice?.index).toBe(0);
  });

  test("without a delta gets one", () => {
    const [choice] = tidied({ choices: [{ index: 0, finish_reason: "stop" } as unknown as ChunkChoice] });
    expect(choice?.delta).toMatchObject({ role: "assistant" });
  });

  test.each([
    ["stop", false, "stop"],
    ["length", false, "length"],
    ["content_filter", true, "content_filter"],
    ["eos", false, "stop"],
    ["end_turn", false, "stop"],
    ["stop", true, "tool_calls"],
    ["tool_calls", true, "tool_calls"],
    ["", false, null],
    [null, false, null],
  ])("finishes for %p (with tools: %p) as %p", (theirs, withTools, ours) => {
    const tools = withTools ? [toolChunk(toolPiece(0, "a", "f", "{}"))] : [];
    const end = { choices: [{ index: 0, delta: {}, finish_reason: theirs as "stop" }] };
    expect(tidied(...tools, end).at(-1)?.finish_reason).toBe(ours as "stop" | null);
  });

  test.each([
    ["network_error", "length"],
    ["malformed_tool_use", "length"],
    ["a_word_of_tomorrow", "length"],
  ])("that ends by %p after text was cut", (theirs, ours) => {
    const end = { choices: [{ index: 0, delta: {}, finish_reason: theirs as "stop" }] };
    expect(tidied(textChunk("a"), end).at(-1)?.finish_reason).toBe(ours as "length");
    expect(() => tidied(end)).toThrow(theirs);
    expect(() => tidied(deltaChunk({ reasoning_content: "Hm" }), end)).toThrow(theirs);
  });

  test.each(["error", "ERROR", "server_error", "cancelled"])(
    "that ends by %p failed, whatever came before",
    (theirs) => {
      const end = { choices: [{ index: 0, delta: { content: "a" }, finish_reason: theirs as "stop" }] };
      expect(() => tidied(end)).toThrow(theirs);
    },
  );

  test("that has no choices is none, and one whose choices are not a list is a fault", () => {
    expect(tidierOf().normalizer.push({ choices: [] })).toEqual([]);
    expect(() => tidierOf().normalizer.push({} as ChatChunk)).toThrow("no choices");
  });
});

describe("a stream", () => {
  test("is finished when every choice that began has finished", () => {
    const { normalizer } = tidierOf();
    expect(normalizer.finished).toBe(false);
    normalizer.push(textChunk("a"));
    normalizer.push(textChunk("b", 2));
    normalizer.push(finishChunk());
    expect(normalizer.finished).toBe(false);
    normalizer.push(finishChunk(2));
    expect(normalizer.finished).toBe(true);
  });

  test("collects all that was written, for an estimate", () => {
    const { normalizer, usageMeter, output } = tidierOf();
    normalizer.push(deltaChunk({ role: "assistant", content: "" }));
    expect([usageMeter.produced, usageMeter.wrote]).toEqual([false, false]);
    normalizer.push(deltaChunk({ content: "a", reasoning_content: "b", refusal: "c" }));
    normalizer.push(toolChunk(toolPiece(0, "id", "d", "e")));
    normalizer.push(deltaChunk({ function_call: { arguments: "f" } }));
    expect([output.sample.text, usageMeter.produced, usageMeter.wrote]).toEqual(["abcdef", true, true]);
  });

  test("keeps the beginning of a long answer, and how long it is", () => {
    const { normalizer, output } = tidierOf();
    const piece = "word ".repeat(20_000);
    for (let count = 0; count < 10; count++) normalizer.push(deltaChunk({ content: piece }));
    expect([output.sample.text.length <= 200_000, output.sample.length]).toEqual([true, 1_000_000]);
  });

  test("that only finishes has produced, but not written", () => {
    const { normalizer, usageMeter } = tidierOf();
    normalizer.push(finishChunk());
    expect([usageMeter.produced, usageMeter.wrote]).toEqual([true, false]);
  });

  test("reports the last usable usage", () => {
    const { normalizer, usageMeter } = tidierOf();
    for (const usage of [{ prompt_tokens: 5, completion_tokens: 1 }, { prompt_tokens: -1 }, "much", 7]) {
      normalizer.push(usageChunk(usage));
    }
    expect(usageMeter.reported).toEqual({ inputToken: 5, outputToken: 1 });
  });
});

test("a report keeps the half of an earlier one that it has as zero", () => {
  const { normalizer, usageMeter } = tidierOf();
  const details = { cached_tokens: 40 };
  for (const usage of [
    { prompt_tokens: 100, completion_tokens: 0, total_tokens: 100, prompt_tokens_details: details },
    { prompt_tokens: 0, completion_tokens: 7, total_tokens: 7 },
    { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  ]) {
    normalizer.push({ choices: [], usage });
  }
  expect(normalizer.usage).toEqual({
    prompt_tokens: 100,
    completion_tokens: 7,
    total_tokens: 107,
    prompt_tokens_details: details,
  });
  expect(usageMeter.reported).toMatchObject({ inputToken: 60, cacheReadToken: 40, outputToken: 7 });
});

test("log probabilities have the bytes and the alternatives of each token", () => {
  const logprobs = { content: [{ token: "a", logprob: -1, top_logprobs: null }] };
  const chunks = tidied({ choices: [{ index: 0, delta: { content: "a" }, logprobs }] } as never, finishChunk());
  expect(JSON.stringify(chunks)).toContain('{"token":"a","logprob":-1,"top_logprobs":[],"bytes":null}');
});

describe("tool calls", () => {
  test.each<[string, ChatChunk[], [string, string][]]>([
    [
      "as OpenAI sends them",
      [toolChunk(toolPiece(0, "a", "f", "")), toolChunk(toolPiece(0, undefined, undefined, "{}"))],
      [["f", "{}"]],
    ],
    [
      "all with index 0 and ids of their own",
      [
        toolChunk(toolPiece(0, "a", "f", "{1}")),
        toolChunk(toolPiece(0, "b", "g", "{")),
        toolChunk(toolPiece(0, undefined, undefined, "2}")),
      ],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    [
      "with their id and name repeated on every piece",
      [
        toolChunk(toolPiece(0, "a", "f", "{")),
        toolChunk(toolPiece(0, "a", "f", "1}")),
        toolChunk(toolPiece(1, "b", "g", "{2}")),
      ],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    [
      "without ids, by their indexes",
      [
        toolChunk(toolPiece(0, undefined, "f", "{")),
        toolChunk(toolPiece(1, undefined, "g", "{2}")),
        toolChunk(toolPiece(0, undefined, undefined, "1}")),
      ],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    [
      "whole, without ids and all with index 0",
      [toolChunk(toolPiece(0, undefined, "f", "{1}")), toolChunk(toolPiece(0, "", "g", "{2}"))],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    [
      "without indexes, several in a piece",
      [toolChunk(toolPiece(undefined, "a", "f", "{1}"), toolPiece(undefined, "b", "g", "{2}"))],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    [
      "counted from one",
      [toolChunk(toolPiece(1, "a", "f", "{1}")), toolChunk(toolPiece(2, "b", "g", "{2}"))],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    ["without arguments", [toolChunk({ index: 0, id: "a", function: { name: "f" } })], [["f", ""]]],
    ["with arguments null", [toolChunk({ index: 0, id: "a", function: { name: "f", arguments: null } })], [["f", ""]]],
    [
      "with arguments that are an object",
      [toolChunk({ index: 0, id: "a", function: { name: "f", arguments: { a: [1] } } })],
      [["f", '{"a":[1]}']],
    ],
    [
      "with arguments that are an object in a later piece",
      [toolChunk(toolPiece(0, "a", "f")), toolChunk({ index: 0, function: { arguments: { a: 1 } } })],
      [["f", '{"a":1}']],
    ],
    [
      "with their name in every piece and their id in the first",
      [
        toolChunk(toolPiece(0, "a", "f", "")),
        toolChunk(toolPiece(0, undefined, "f", '{"x":')),
        toolChunk(toolPiece(0, undefined, "f", '"}"}')),
      ],
      [["f", '{"x":"}"}']],
    ],
    [
      "with another id after the first piece",
      [
        toolChunk(toolPiece(0, "a", "f", "")),
        toolChunk(toolPiece(0, "b", undefined, "{")),
        toolChunk(toolPiece(0, "b", "", "1}")),
      ],
      [["f", "{1}"]],
    ],
    [
      "with another id and the name in every piece",
      [
        toolChunk(toolPiece(0, "a", "f", "")),
        toolChunk(toolPiece(0, "b", "f", "{")),
        toolChunk(toolPiece(0, "c", "f", "1}")),
      ],
      [["f", "{1}"]],
    ],
    [
      "of one function with index 0 and ids of their own, interleaved",
      [
        toolChunk(toolPiece(0, "a", "f", "")),
        toolChunk(toolPiece(0, "b", "f", "")),
        toolChunk(toolPiece(0, "a", undefined, "{1}")),
        toolChunk(toolPiece(0, "b", undefined, "{2}")),
      ],
      [
        ["f", "{1}"],
        ["f", "{2}"],
      ],
    ],
    [
      "without indexes, by the call before",
      [
        toolChunk(toolPiece(undefined, "a", "f", "")),
        toolChunk(toolPiece(undefined, undefined, undefined, "{1}")),
        toolChunk(toolPiece(undefined, "b", "g", "{")),
        toolChunk(toolPiece(undefined, "c", undefined, "2}")),
      ],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    [
      "without indexes, interleaved by their ids",
      [
        toolChunk(toolPiece(undefined, "a", "f", "")),
        toolChunk(toolPiece(undefined, "b", "g", "")),
        toolChunk(toolPiece(undefined, "a", undefined, "{1}")),
        toolChunk(toolPiece(undefined, "b", "g", "{2}")),
      ],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    [
      "with an index from their second piece on",
      [toolChunk(toolPiece(undefined, "a", "f", "")), toolChunk(toolPiece(0, undefined, undefined, "{1}"))],
      [["f", "{1}"]],
    ],
    [
      "with indexes that are text",
      [
        toolChunk({ index: "0", id: "a", function: { name: "f", arguments: "" } }),
        toolChunk({ index: "1", id: "b", function: { name: "g", arguments: "{2}" } }),
        toolChunk({ index: "0", function: { arguments: "{1}" } }),
      ],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    [
      "with a name that comes after the arguments have begun",
      [
        toolChunk(toolPiece(0, "a", "", "{")),
        toolChunk(toolPiece(0, undefined, "f", "")),
        toolChunk(toolPiece(0, undefined, undefined, "1}")),
      ],
      [["f", "{1}"]],
    ],
    [
      "repeated whole in the last piece",
      [
        toolChunk(toolPiece(0, "a", "f", "{")),
        toolChunk(toolPiece(0, undefined, undefined, "1}")),
        {
          choices: [{ index: 0, delta: { tool_calls: [toolPiece(0, "a", "f", "{1}")] }, finish_reason: "tool_calls" }],
        },
      ],
      [["f", "{1}"]],
    ],
    [
      "repeated whole without its id in the last piece",
      [
        toolChunk(toolPiece(0, "a", "f", "{1}")),
        {
          choices: [{ index: 0, delta: { tool_calls: [toolPiece(0, undefined, "f", "{1}")] }, finish_reason: "stop" }],
        },
      ],
      [["f", "{1}"]],
    ],
    [
      "all with one id",
      [
        toolChunk(toolPiece(0, "a", "f", "{")),
        toolChunk(toolPiece(1, "a", "g", "{")),
        toolChunk(toolPiece(0, "a", undefined, "1}")),
        toolChunk(toolPiece(1, "a", undefined, "2}")),
      ],
      [
        ["f", "{1}"],
        ["g", "{2}"],
      ],
    ],
    ["with arguments that are a number", [toolChunk({ id: "a", function: { name: "f", arguments: 5 } })], [["f", "5"]]],
  ])("%s", (_, pieces, wanted) => {
    const calls = assembled(tidied(...pieces));
    expect(calls.map(({ name, text }) => [name, text] as [string, string])).toEqual(wanted);
    const ids = calls.map(({ id }) => id);
    expect(new Set(ids).size).toBe(wanted.length);
    for (const id of ids) expect(id).toMatch(/^.+$/);
  });

  test("keep the id that came first, and one that is taken already becomes another", () => {
    const changed = assembled(
      tidied(toolChunk(toolPiece(0, "call_a7Xq", "f")), toolChunk(toolPiece(0, "call_b3Wk", undefined, "{}"))),
    );
    expect(changed.map(({ id }) => id)).toEqual(["call_a7Xq"]);
    const same = assembled(
      tidied(toolChunk(toolPiece(0, "call_a7Xq", "f", "{}")), toolChunk(toolPiece(1, "call_a7Xq", "g", "{}"))),
    );
    expect(same.map(({ id }) => id)).toEqual(["call_a7Xq", expect.stringMatching(/^call_/)]);
  });

  test("without a name are a failure at the end, unless nothing was said of them", () => {
    const end = { choices: [{ index: 0, delta: {}, finish_reason: "tool_calls" as const }] };
    expect(() => tidied(toolChunk(toolPiece(0, "a", undefined, "{1}")), end)).toThrow("names no function");
    expect(assembled(tidied(textChunk("Hi"), toolChunk(toolPiece(0, "a")), end))).toEqual([]);
  });

  test("of several choices are counted apart", () => {
    const piece = (choice: number, id: string) => deltaChunk({ tool_calls: [toolPiece(0, id, "f", "[1]")] }, choice);
    const choices = tidied(piece(0, "a"), piece(1, "b"), piece(1, "c"));
    expect(choices.flatMap(({ delta }) => delta.tool_calls ?? []).map(({ index }) => index)).toEqual([0, 0, 1]);
  });

  test("that are none leave no trace", () => {
    expect(tidied(deltaChunk({ tool_calls: [] }))[0]?.delta).not.toHaveProperty("tool_calls");
  });

  test("keep what a provider adds to the first piece", () => {
    const signed = { ...toolPiece(0, "a", "f"), extra_content: { signature: "s" } };
    expect(tidied(toolChunk(signed))[1]?.delta.tool_calls?.[0]).toHaveProperty("extra_content.signature", "s");
  });

  test("without arguments get an empty object, unless the answer was cut before them", () => {
    const textOf = (pieces: string[], finish?: "length") => {
      const [first = "", ...rest] = pieces;
      const more = rest.map((text) => toolChunk(toolPiece(0, undefined, undefined, text)));
      const end = finishChunk();
      if (finish !== undefined) for (const choice of end.choices) choice.finish_reason = finish;
      return assembled(tidied(toolChunk(toolPiece(0, "a", "f", first)), ...more, end))[0]?.text;
    };
    for (const pieces of [[""], ["null"], ["", "null"], ["nu", "ll"], ["[]"], ["", "[", "]"], ['""'], ["", '"', '"']]) {
      expect([pieces, textOf(pieces)]).toEqual([pieces, "{}"]);
    }
    for (const pieces of [
      ["null", '{"a":1}'],
      ["", '{"a":1}'],
      ["{}", '{"a":1}'],
      ["", "[]", '{"a":1}'],
    ]) {
      expect(textOf(pieces)).toBe('{"a":1}');
    }
    for (const text of ["[1]", "nothing", "5"]) expect(textOf([...text])).toBe(text);
    for (const pieces of [
      ["[]", "!"],
      ["", "[]", "!"],
      ["", "null", "!"],
      ["", "{}", "!"],
      ['""', "!"],
      ["", '"', '"', "!"],
    ]) {
      expect(textOf(pieces)).toBe(pieces.join(""));
    }
    for (const text of ["", "n", "["]) expect(textOf([text], "length")).toBe(text);
  });

  test("come together again however their arguments were cut and the calls interleaved", () => {
    const call = fc.record({ name: fc.string({ minLength: 1 }), pieces: fc.array(fc.string(), { maxLength: 6 }) });
    const ways = fc.constantFrom("ids always", "ids first", "no ids");
    fc.assert(
      fc.property(
        fc.array(call, { minLength: 1, maxLength: 5 }),
        ways,
        fc.infiniteStream(fc.nat()),
        (calls, way, dice) => {
          const queues = calls.map(({ name, pieces }, index) => {
            const first = toolPiece(index, way === "no ids" ? undefined : `id-${index}`, name);
            const id = way === "ids always" ? `id-${index}` : undefined;
            return [first, ...pieces.map((text) => toolPiece(index, id, undefined, text))];
          });
          const sent: ChatChunk[] = queues.map((queue) =>
            toolChunk(queue.shift() as object as Record<string, unknown>),
          );
          while (queues.some((queue) => queue.length > 0)) {
            const open = queues.filter((queue) => queue.length > 0);
            const queue = open[dice.next().value % open.length];
            sent.push(toolChunk(queue?.shift() as Record<string, unknown>));
          }
          sent.push(finishChunk());
          const whole = (text: string) => (/^(null|""|\[\s*\])?$/.test(text) ? "{}" : text);
          const wanted = calls.map(({ name, pieces }) => [name, whole(pieces.join("").trim())]);
          expect(assembled(tidied(...sent)).map(({ name, text }) => [name, text.trim()])).toEqual(wanted);
        },
      ),
      { numRuns: 200 },
    );
  });
});
