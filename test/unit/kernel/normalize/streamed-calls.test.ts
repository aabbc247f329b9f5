import { expect, test } from "bun:test";
import { isBrokenCall, StreamedCalls } from "../../../../src/kernel/normalize/tool-calls.ts";
import type { ToolCallDelta } from "../../../../src/provider/index.ts";

const piece = (fields: object) => fields as ToolCallDelta;

test("arguments that a server gives once more with its last chunk, without the name, arrive once", () => {
  const calls = new StreamedCalls();
  const pieces = [
    ...calls.take([piece({ index: 0, id: "a", function: { name: "f", arguments: '{"x":1' } })], false),
    ...calls.take([piece({ index: 0, function: { arguments: "}" } })], false),
    ...calls.take([piece({ index: 0, id: null, function: { name: null, arguments: '{"x":1}' } })], true),
  ];
  expect(pieces.map((one) => one.function?.arguments ?? "").join("")).toBe('{"x":1}');
});

test("arguments that break off are told from those that are whole, empty or of a custom tool", () => {
  const isOpen = (text: string, kind: "function" | "custom" = "function") => {
    const calls = new StreamedCalls();
    const texts = kind === "function" ? { arguments: text } : { input: text };
    calls.take([piece({ index: 0, id: "a", [kind]: { name: "f", ...texts } })], false);
    return [calls.hasBroken, isBrokenCall(piece({ [kind]: { name: "f", ...texts } }))];
  };
  const cut = ["{", '{"city":"Pa', '{"a":{"b":[1', '{"a":"}', '{"a":"\\"}', "["];
  const whole = ["", "{}", '{"a":"}"}', '{"a":"\\\\"}', "[]", "12", '"{"'];
  expect(cut.map((text) => isOpen(text))).toEqual(cut.map(() => [true, true]));
  expect(whole.map((text) => isOpen(text))).toEqual(whole.map(() => [false, false]));
  expect(isOpen("*** Begin {", "custom")).toEqual([false, false]);
});

test("arguments with something behind their end are told as broken, however they were cut, also without a name", () => {
  const isBroken = (...texts: string[]) => {
    const calls = new StreamedCalls();
    for (const [at, text] of texts.entries())
      calls.take([piece({ index: 0, function: { ...(at === 0 && { name: "f" }), arguments: text } })], false);
    return [calls.hasBroken, isBrokenCall(piece({ function: { name: "f", arguments: texts.join("") } }))];
  };
  const broken = [["{}", "}"], ['{"a":1}', '{"b":2}'], ['{"a":1', '}"b"'], ['{"a":1}</tool_call>'], ["[1]", ",2]"]];
  expect(broken.map((texts) => isBroken(...texts))).toEqual(broken.map(() => [true, true]));
  const whole = [['{"a":1}', " \n"], ['{"a":"}{"}'], [" {", "}\n"]];
  expect(whole.map((texts) => isBroken(...texts))).toEqual(whole.map(() => [false, false]));
});

test("two pieces of one call in one chunk leave as one, because clients put two together wrongly", () => {
  const pieces = new StreamedCalls().take(
    [
      piece({ index: 0, id: "a", function: { name: "f", arguments: "" } }),
      piece({ index: 0, function: { arguments: '{"a"' } }),
    ],
    false,
  );
  expect(pieces).toMatchObject([{ index: 0, function: { name: "f", arguments: '{"a"' } }]);
});

test("arguments that a server encodes twice arrive as they were meant, however they were cut, and a text stays a text", () => {
  const inner = '{"city":"Oslo \\"N\\"","path":"C:\\\\","n":[1,2]}';
  const textOf = (text: string, cuts: number, kind: "function" | "custom" = "function", isCutOff = false) => {
    const calls = new StreamedCalls();
    const member = kind === "function" ? "arguments" : "input";
    const size = Math.ceil(text.length / cuts);
    const parts = Array.from({ length: cuts }, (_, at) => text.slice(at * size, (at + 1) * size));
    const pieces = parts.flatMap((part, at) =>
      calls.take(
        [piece({ index: 0, ...(at === 0 && { id: "a" }), [kind]: { ...(at === 0 && { name: "f" }), [member]: part } })],
        false,
      ),
    );
    if (calls.isHolding) pieces.push(...calls.take([], true));
    expect(calls.isHolding).toBe(false);
    expect(calls.hasBroken).toBe(isCutOff);
    return pieces.map((one) => one[kind]?.[member as never] ?? "").join("");
  };
  const encoded = JSON.stringify(inner);
  for (const cuts of [1, 2, 3, 7, encoded.length]) {
    expect(textOf(encoded, cuts)).toBe(inner);
    expect(textOf(` ${encoded}\n`, cuts).trim()).toBe(inner);
    expect(textOf(encoded, cuts, "custom")).toBe(encoded);
    for (const text of ['"Oslo"', '"[1]"', '"{"', '"12"', inner, `${encoded}x`]) expect(textOf(text, cuts)).toBe(text);
    const cut = encoded.slice(0, -5);
    expect(textOf(cut, cuts, "function", true)).toBe(cut);
  }
  expect(textOf(JSON.stringify(JSON.stringify({ a: "x".repeat(300_000) })), 3).startsWith('"{')).toBe(true);
});

test("what is held back of arguments is counted as it comes, and once", () => {
  let counted = "";
  const calls = new StreamedCalls((text) => {
    counted += text;
  });
  const encoded = JSON.stringify('{"city":"Oslo"}');
  calls.take([piece({ index: 0, id: "a", function: { name: "f", arguments: encoded.slice(0, 6) } })], false);
  expect(counted).toBe(`f${encoded.slice(0, 6)}`);
  calls.take([piece({ index: 0, function: { arguments: encoded.slice(6) } })], true);
  expect(counted).toBe(`f${encoded}`);
});

/** The calls as a client puts them together: by index, the id and name of the first piece. */
function collect(calls: StreamedCalls, chunks: object[][]): string[] {
  const got: { name: string; text: string }[] = [];
  for (const [at, chunk] of chunks.entries()) {
    for (const { index = 0, id, function: called } of calls.take(chunk.map(piece), at === chunks.length - 1)) {
      const known = got[index];
      if (known !== undefined && id !== undefined) throw new Error(`Call ${index} begins twice`);
      got[index] ??= { name: String(called?.name), text: "" };
      got[index].text += called?.arguments ?? "";
    }
  }
  calls.end();
  return got.map(({ name, text }) => `${name} ${text}`);
}
const named = (name: string, text = "", more: object = {}) => ({ ...more, function: { name, arguments: text } });
const text = (text: string, more: object = {}) => ({ ...more, function: { arguments: text } });

test.each<[string, object[][], string[]]>([
  [
    "before the arguments are not theirs",
    [[named("f", "{}", { index: 0, id: "a" })], [text('{"x"', { index: 0 })], [text(":1}", { index: 0 })], []],
    ['f {"x":1}'],
  ],
  [
    "before the arguments are not theirs where each piece has the name",
    [[named("f", "{}", { index: 0, id: "a" })], [named("f", '{"x":1}', { index: 0, id: "a" })], []],
    ['f {"x":1}'],
  ],
  [
    "before the arguments are not theirs where each piece has the name",
    [
      [named("f", "{}", { index: 0, id: "a" })],
      [named("f", '{"x"', { index: 0 })],
      [named("f", ":1}", { index: 0 })],
      [],
    ],
    ['f {"x":1}'],
  ],
  [
    "before the arguments are not theirs where those of two calls come by turns",
    [
      [named("f", "{}", { index: 0, id: "a" })],
      [named("g", "{}", { index: 0, id: "b" })],
      [text('{"x":1}', { index: 0, id: "a" })],
      [text('{"y":2}', { index: 0, id: "b" })],
      [],
    ],
    ['f {"x":1}', 'g {"y":2}'],
  ],
  [
    "of a call without arguments stay",
    [[named("f", "{}", { index: 0, id: "a" })], [named("g", "{}", { index: 1, id: "b" })], []],
    ["f {}", "g {}"],
  ],
  [
    "of a call without arguments stay where another call follows",
    [[named("f", "{}", { index: 0, id: "a" })], [named("g", '{"x":1}', { index: 1, id: "b" })], []],
    ["f {}", 'g {"x":1}'],
  ],
])("braces without anything in them %s", (_, chunks, calls) => {
  expect(collect(new StreamedCalls(), chunks)).toEqual(calls);
});

test("arguments that are sent once more without the name, before the end of the answer, arrive once", () => {
  const again = text('{"x":1}', { index: 0 });
  expect(
    collect(new StreamedCalls(), [[named("f", '{"x"', { index: 0 })], [text(":1}", { index: 0 })], [again], []]),
  ).toEqual(['f {"x":1}']);
});

test("calls with neither an index nor an id are told apart by their names and by where their arguments end", () => {
  const twice = ['f {"a":1}', 'f {"a":2}'];
  const rows: [string[], object[][]][] = [
    [twice, [[named("f")], [text('{"a"')], [text(":1}")], [named("f")], [text('{"a"')], [text(":2}")]]],
    [twice, [[named("f", '{"a":1}')], [named("f", '{"a":2}')]]],
    [twice, [[named("f", '{"a":1}')], [named("f", '{"a"')], [text(":2}")]]],
    [
      ['f {"a":1}', 'g {"a":2}'],
      [[named("f")], [text('{"a":1}')], [named("g")], [text('{"a":2}')]],
    ],
    // The name in each piece, also of the second call.
    [twice, [[named("f")], [named("f", '{"a":1}')], [named("f")], [named("f", '{"a"')], [named("f", ":2}")]]],
    // Several in one chunk, of which the first goes on one that is open.
    [
      ['f {"a":1}', 'g {"a":2}', 'h {"a":3}', 'i {"a":4}'],
      [
        [named("f", '{"a":1}'), named("g", '{"a":2}')],
        [named("h", '{"a"')],
        [text(":3}"), named("i", '{"a"')],
        [text(":4}")],
      ],
    ],
    // An index of its own holds, also for what follows its end.
    [
      ['f {"a":1}x', 'g {"a":2}'],
      [
        [named("f", '{"a":1}', { index: 0 }), named("g", '{"a"', { index: 1 })],
        [text("x", { index: 0 }), text(":2}", { index: 1 })],
      ],
    ],
    // A name behind a call that is complete begins none without arguments of its own.
    [['f {"a":1}'], [[named("f", '{"a":1}')], [named("f")], []]],
  ];
  for (const [expected, chunks] of rows) expect(collect(new StreamedCalls(), chunks)).toEqual(expected);
});

test("calls that a server gives once more at the end, with neither an index nor an id, arrive once", () => {
  const once = ['f {"a":1}', 'g {"a":2}'];
  const streamed = [[named("f")], [text('{"a":1}')], [named("g")], [text('{"a":2}')]];
  const again = [named("f", '{"a":1}'), named("g", '{"a":2}')];
  expect(collect(new StreamedCalls(), [...streamed, again])).toEqual(once);
  expect(collect(new StreamedCalls(), [...streamed, again.slice(0, 1)])).toEqual(once);
  expect(
    collect(new StreamedCalls(), [...streamed, again.map((one, index) => ({ ...one, index, id: `${index}` }))]),
  ).toEqual(once);
  // Two alike that come at the end alone are two.
  expect(collect(new StreamedCalls(), [[named("f", "{}"), named("f", "{}")]])).toEqual(["f {}", "f {}"]);
  const at = (index: number) => ({ index, id: `${index}` });
  expect(collect(new StreamedCalls(), [[named("f", "{}", at(0))], [named("f", "{}", at(1))]])).toEqual([
    "f {}",
    "f {}",
  ]);
});

test("calls of one name at one index are told apart by their ids, also where arguments follow without them", () => {
  const at = (id: string) => ({ index: 0, id });
  expect(
    collect(new StreamedCalls(), [
      [named("f", "", at("a"))],
      [text('{"a":1}', { index: 0 })],
      [named("f", "", at("b"))],
      [text('{"a":2}', { index: 0 })],
    ]),
  ).toEqual(['f {"a":1}', 'f {"a":2}']);
  // Their names come late.
  expect(
    collect(new StreamedCalls(), [
      [named("", "", at("a")), named("", "", at("b"))],
      [named("f", '{"a"', at("a")), named("f", '{"b"', at("b"))],
      [text(":1}", at("a")), text(":2}", at("b"))],
    ]),
  ).toEqual(['f {"a":1}', 'f {"b":2}']);
});

test("a name that comes in pieces is whole, and a whole name waits for nothing", () => {
  const tools = ["get", "get_weather", "get_time", "find"];
  const calls = () => new StreamedCalls(undefined, tools);
  const split = [[named("get_we")], [named("ather")], [text("{}")]];
  const rows: [string[], object[][]][] = [
    [["get_weather {}"], split],
    [["get_weather {}"], [[named("ge")], [named("t_wea")], [named("ther", "{}")]]],
    [["get {}"], [[named("get")], [text("{}")]]],
    [["get_weather {}"], [[named("get_we", "{")], [named("ather", "}")]]],
    [["get_we {}"], [[named("get_we", "{")], [text("}")], []]],
    [["get {}"], [[named("get")], [named("get", "{}")]]],
    [["get_weather {}"], [[named("get_wea")], [named("get_weather")], [text("{}")]]],
    [
      ["get {}", "get_time {}"],
      [[named("get")], [named("get_time", "{}")]],
    ],
    [
      ["get {}", "find {}"],
      [[named("get")], [named("find", "{}", { index: 1 })]],
    ],
    [["get {}"], [[named("get")], []]],
    [["get_weather {}"], [[named("get_we", "", { index: 0, id: "a" })], [named("ather", "{}", { index: 0, id: "b" })]]],
    [
      ["get {}", "get {}"],
      [[named("get", "", { index: 0, id: "a" })], [named("get", "", { index: 0, id: "b" })], []],
    ],
    // The model broke off, or made a name up.
    [["get_we {}"], [[named("get_we")], []]],
    [["other {}"], [[named("other")], [text("{}")]]],
    [
      ["get_weather {}", "get_time {}"],
      [
        [named("get_", "", { index: 0, id: "a" }), named("get_", "", { index: 1, id: "b" })],
        [named("weather", "{}", { index: 0 }), named("time", "{}", { index: 1 })],
      ],
    ],
  ];
  for (const [expected, chunks] of rows) expect(collect(calls(), chunks)).toEqual(expected);
  // Without tools that are known, and for a name that no other goes on from, nothing is held back.
  for (const [list, name] of [
    [undefined, "get_we"],
    [tools, "get_weather"],
    [tools, "find"],
  ] as const) {
    expect(new StreamedCalls(undefined, list).take([piece(named(name))], false)).toMatchObject([
      { function: { name } },
    ]);
  }
  let counted = "";
  const counting = new StreamedCalls((more) => {
    counted += more;
  }, tools);
  collect(counting, split);
  expect(counted).toBe("get_weather{}");
});
