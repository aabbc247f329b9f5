import { describe, expect, test } from "bun:test";
import { explainUpgrade, upgradeText } from "../../../src/plugin-loader/contract-upgrade.ts";
import { tokenize } from "../../../src/plugin-loader/tokens.ts";
import { builtIn, makeHome, manifest, row, stockOf } from "./folder.ts";

const rewritten = (text: string, kind: "json" | "code" = "code") => upgradeText(text, kind).text;
const imported = (names: string, rest: string) => `import { ${names} } from "modelgate/plugin";\n${rest}\n`;

describe("code of contract 1", () => {
  test.each([
    ["the version", "definePlugin({ contractVersion: 1 })", "definePlugin({ contractVersion: 2 })"],
    [
      "handlers",
      "({ handlers: { chat, embed, speak: say } })",
      "({ handlers: { chat, embeddings: embed, speech: say } })",
    ],
    ["a handler as a method", "({ handlers: { async image(call) {} } })", "({ handlers: { async images(call) {} } })"],
    ["options of the dialect", "openai({ chat: {}, transcribe: {} })", "openai({ chat: {}, transcription: {} })"],
    ["checks", "({ checks: { 'speak': f } })", "({ checks: { 'speech': f } })"],
    ["the bound of choices", "({ nMax: { image: 4 } })", "({ maxChoices: { images: 4 } })"],
    ["a bound in a variable", "({ nMax, models })", "({ maxChoices: nMax, models })"],
    ["a typed table", "const all: Handlers = { embed }", "const all: Handlers = { embeddings: embed }"],
    ["a row", '({ capability: "speak", id: "speak" })', '({ capability: "speech", id: "speak" })'],
    ["a comparison", 'row.capability === "image"', 'row.capability === "images"'],
    [
      "a new fault",
      'new UpstreamFault(late ? "limited" : "broken", "gone")',
      'new UpstreamFault(late ? "rate_limited" : "bad_response", "gone")',
    ],
    [
      "a table of faults",
      'const kinds: Record<string, FaultKind> = { a: "key" }',
      'const kinds: Record<string, FaultKind> = { a: "auth" }',
    ],
    [
      "the code of an error",
      'new GatewayError("a", "b", { shownCode: "c" })',
      'new GatewayError("a", "b", { publicCode: "c" })',
    ],
    ["a warning", 'call.note("Left out")', 'call.warn("Left out")'],
    [
      "a warning taken out of a call",
      "({ request, note }: Call<ChatRequest>) => note(1)",
      "({ request, warn: note }: Call<ChatRequest>) => note(1)",
    ],
    [
      "a warning of a handler",
      "({ handlers: { chat: ({ note }) => note(1) } })",
      "({ handlers: { chat: ({ warn: note }) => note(1) } })",
    ],
    [
      "a part of a call",
      'type Part = Pick<Call<ChatRequest>, "request" | "note">',
      'type Part = Pick<Call<ChatRequest>, "request" | "warn">',
    ],
    [
      "an import and its uses",
      imported("refuse", 'throw refuse("No", refuse)'),
      imported("badRequest", 'throw badRequest("No", badRequest)'),
    ],
    [
      "an import with a name of its own",
      imported("fit as isShaped", "isShaped(a, b)"),
      imported("parseShape as isShaped", "isShaped(a, b)"),
    ],
    [
      "an import whose name is also a key",
      imported("fit", "const a = { fit: 1 }"),
      imported("parseShape as fit", "const a = { fit: 1 }"),
    ],
    [
      "a comparison of faults",
      imported("UpstreamFault", 'fault.kind === "quota"'),
      imported("UpstreamFault", 'fault.kind === "insufficient_quota"'),
    ],
  ])("%s is rewritten", (_, before, after) => {
    expect(rewritten(before)).toBe(after);
  });

  test.each([
    ["a comment", '// handlers: { embed }, new UpstreamFault("gone")'],
    ["a text", 'const text = "handlers: { embed }"; const other = `nMax: 1`'],
    ["a wire format of its own", '({ input: { image: "a", embed: 1 }, kind: "key", mode: "quota" })'],
    ["a function of the same name", "function refuse() {}\nrefuse();"],
    ["a note of something else", 'music.note("c"); ({ note: "d" })'],
    ["a regular expression", "const pattern = /handlers: { embed }/;"],
    ["a credential", '({ credential: "key" })'],
  ])("%s stays as it is", (_, text) => {
    expect(upgradeText(text, "code")).toEqual({ text, changes: [] });
  });

  test("each change has its line, and what is rewritten has nothing left to change", () => {
    const before = `export default {\n  contractVersion: 1,\n  // nMax\n  nMax: { image: 1 },\n};\n`;
    const { text, changes } = upgradeText(before, "code");
    expect(changes.map(({ line, rename }) => [line, rename])).toEqual([
      [2, "1 to 2"],
      [4, "nMax to maxChoices"],
      [4, "image to images"],
    ]);
    expect(upgradeText(text, "code").changes).toEqual([]);
  });
});

test("a manifest keeps its layout, and data inside a row is left alone", () => {
  const before = `{ "contractVersion": 1, "nMax": {"image": 2},\n  "quirks": { "embed": { "extra": { "image": 1 } } },
  "models": [{ "id": "embed", "capability": "embed", "options": { "capability": "image" } }] }`;
  expect(
    rewritten(before, "json"),
  ).toBe(`{ "contractVersion": 2, "maxChoices": {"images": 2},\n  "options": { "embeddings": { "extra": { "image": 1 } } },
  "models": [{ "id": "embed", "capability": "embeddings", "options": { "capability": "image" } }] }`);
});

test.each(["{,", "note : { … ( ", "a . ", "`$\u007b", "x".repeat(50)])("a long file of %j is read", (part) => {
  const text = `${part.repeat(20_000)} embed note, "quota" nMax`;
  expect(upgradeText(text, "code").text).toBe(text);
});

test("a guess alone is no reason to refuse a plugin", () => {
  const { changes } = upgradeText(imported("UpstreamFault", 'own.kind === "key"'), "code");
  expect(changes).toHaveLength(1);
  expect(explainUpgrade(changes, "plugins/acme.ts")).toBeUndefined();
});

test.each(["`", "`$\u007b", '"', "/", "}", "`$\u007b`$\u007b{}}`}`", "\u0000\ud800"])(
  "tokenize reads all of %j",
  (text) => {
    expect(tokenize(text).reduce((length, token) => length + token.text.length, 0)).toBe(text.length);
  },
);

test.each([
  [
    "plugins/acme.json",
    manifest({ nMax: { chat: 1 }, quirks: { speak: {} }, models: [{ id: "a", capability: "speak", premium: false }] }),
    "rename speak to speech, nMax to maxChoices, quirks to options, or run modelgate plugin upgrade plugins/acme.json",
  ],
  [
    "plugins/acme.ts",
    imported("refuse", "export default { checks: { speak: () => refuse() } };"),
    "rename refuse to badRequest, speak to speech, or run modelgate plugin upgrade plugins/acme.ts",
  ],
  [
    "catalogue/stock.json",
    { models: [{ id: "stock-1", capability: "speak" }] },
    "rename speak to speech, or run modelgate plugin upgrade catalogue/stock.json",
  ],
])("%s of contract 1 is refused in one sentence that lists what to rename", async (file, content, sentence) => {
  const home = makeHome();
  home.write(file, content);
  const { warnings } = await stockOf(home, { builtIns: [builtIn("stock", [row])] }).pluginManager.load();
  home.clear();
  const reason = `it is written for contract 1, this gateway speaks 2; ${sentence}`;
  expect(warnings).toEqual([expect.stringMatching(new RegExp(`^Cannot (load|use) ${file}: ${reason}$`))]);
});
