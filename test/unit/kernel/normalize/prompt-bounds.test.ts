import { describe, expect, test } from "bun:test";
import { measureAudio } from "../../../../src/kernel/normalize/chat-audio.ts";
import { boundPrompt, chatForm, readPromptText } from "../../../../src/kernel/normalize/prompt-bounds.ts";
import { readJson } from "../../../../src/lib/json.ts";
import { messagesFormat } from "../../../../src/protocols/messages/passthrough.ts";
import { responsesFormat } from "../../../../src/protocols/responses/passthrough.ts";
import type { Model } from "../../../../src/provider/index.ts";
import { fileOf, flacFrames, flacHead } from "../../../support/audio-files.ts";
import { wavFile } from "../../../support/wav.ts";

const forms = { chat: chatForm, messages: messagesFormat.prompt, responses: responsesFormat.prompt };

const model = { contextTokens: 200_000, imageTokensMax: 2000 } as Model;
const context = 200_000;
const base64 = "A".repeat(1_000_000);
const long = "x".repeat(50_000);

const chat = (content: unknown, more: object = {}) => ({ model: "m", messages: [{ role: "user", content }], ...more });
const message = (content: unknown, more: object = {}) => ({ ...chat(content, more), max_tokens: 10 });
const respond = (content: unknown, more: object = {}) => ({ model: "m", input: [{ role: "user", content }], ...more });
const source = (type: string, more: object) => ({ source: { type, ...more } });

describe("the bound of a prompt", () => {
  test.each<[string, keyof typeof forms, object, number]>([
    ["a text", "chat", chat("abc"), 9],
    ["no text", "chat", chat(""), 6],
    [
      "parts",
      "chat",
      chat([
        { type: "text", text: "abc" },
        { type: "refusal", refusal: "abc" },
      ]),
      12,
    ],
    [
      "fields that can hold no text",
      "chat",
      chat("abc", { temperature: 0.5, n: 3, stream: true, tool_choice: null }),
      9,
    ],
    [
      "an image by its address",
      "chat",
      chat([{ type: "image_url", image_url: { url: "https://x.example/a.png" } }]),
      2029,
    ],
    [
      "the bytes of an image",
      "chat",
      chat([{ type: "image_url", image_url: { url: `data:image/png;base64,${base64}` } }]),
      2006,
    ],
    ["more than the context", "chat", chat("a".repeat(300_000)), context],
    [
      "the bytes of an image",
      "responses",
      respond([{ type: "input_image", image_url: `data:image/webp;base64,${base64}` }]),
      2006,
    ],
    [
      "a screenshot",
      "responses",
      {
        input: [
          {
            type: "computer_call_output",
            call_id: "c",
            output: { type: "computer_screenshot", image_url: "data:image/png;base64,A" },
          },
        ],
      },
      2007,
    ],
    [
      "the bytes of an image",
      "messages",
      message([{ type: "image", ...source("base64", { media_type: "image/png", data: base64 }) }]),
      2000,
    ],
    [
      "an image in the result of a tool",
      "messages",
      message([
        {
          type: "tool_result",
          tool_use_id: "t",
          content: [{ type: "image", ...source("base64", { media_type: "image/png", data: base64 }) }],
        },
      ]),
      2000,
    ],
  ])("of %s (%s) is known", (_, protocol, body, tokens) => {
    const { meters, isOpenEnded } = boundPrompt(body, forms[protocol], model);
    expect(meters.inputToken as number).toBeGreaterThanOrEqual(tokens);
    expect(meters.inputToken as number).toBeLessThanOrEqual(tokens + 60);
    expect(isOpenEnded).toBe(false);
  });

  // Each of these reached a provider without being held for.
  test.each<[string, keyof typeof forms, object]>([
    ["functions", "chat", chat("", { functions: [{ name: "f", description: long }] })],
    [
      "a response format",
      "chat",
      chat("", { response_format: { type: "json_schema", json_schema: { name: "a", schema: { description: long } } } }),
    ],
    ["documents", "chat", chat("", { documents: [{ text: long }] })],
    ["the refusal of a message", "chat", { messages: [{ role: "assistant", content: null, refusal: long }] }],
    [
      "the input of a custom tool call",
      "chat",
      {
        messages: [
          { role: "assistant", tool_calls: [{ id: "c", type: "custom", custom: { name: "f", input: long } }] },
        ],
      },
    ],
    [
      "the id of a tool call",
      "chat",
      {
        messages: [
          { role: "assistant", tool_calls: [{ id: long, type: "function", function: { name: "f", arguments: "" } }] },
        ],
      },
    ],
    ["a field that nobody knows", "chat", chat("", { x: { y: [[long]] } })],
    ["the name of a field", "chat", chat("", { [long]: 1 })],
    ["numbers", "chat", chat("", { x: Array.from({ length: 5000 }, (_, at) => at / 7) })],
    [
      "the kind of an image",
      "chat",
      chat([{ type: "image_url", image_url: { url: "https://x.example", detail: long } }]),
    ],
    ["the address of an image", "chat", chat([{ type: "image_url", image_url: { url: `https://x.example/${long}` } }])],
    [
      "an example of a tool that says that it is an image",
      "messages",
      message("", { tools: [{ name: "f", input_examples: [{ type: "image", text: long }] }] }),
    ],
    [
      "an image with text beside it",
      "messages",
      message([{ type: "image", text: long, ...source("url", { url: "https://x.example" }) }]),
    ],
    [
      "an image in the system's text",
      "messages",
      message("", { system: [{ type: "image", ...source("base64", { media_type: "image/png", data: long }) }] }),
    ],
    [
      "a tool that says that it is an image",
      "responses",
      respond("", { tools: [{ type: "input_image", image_url: `data:image/png;base64,${long}` }] }),
    ],
    ["the instructions", "responses", respond("", { instructions: long })],
    [
      "a document of plain text",
      "messages",
      message([{ type: "document", ...source("text", { media_type: "text/plain", data: long }) }]),
    ],
    [
      "a cache mark",
      "messages",
      message([{ type: "text", text: "", cache_control: { type: "ephemeral", note: long } }]),
    ],
  ])("of a text in %s (%s) has that text", (_, protocol, body) => {
    const { meters } = boundPrompt(body, forms[protocol], model);
    expect(meters.inputToken as number).toBeGreaterThanOrEqual(50_000);
  });

  test.each<[string, keyof typeof forms, object]>([
    [
      "a PDF",
      "chat",
      chat([{ type: "file", file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" } }]),
    ],
    [
      "a PDF that says that it is text",
      "chat",
      chat([
        { type: "file", file: { filename: "a.pdf", file_data: `data:text/plain;base64,${btoa("%PDF-1.7 ...")}` } },
      ]),
    ],
    [
      "an archive that says that it is text",
      "responses",
      respond([
        { type: "input_file", filename: "a.docx", file_data: `data:text/plain;base64,${btoa("PK\x03\x04\0")}` },
      ]),
    ],
    ["a file by its id", "chat", chat([{ type: "file", file: { file_id: "file-1" } }])],
    [
      "a PDF as an image",
      "chat",
      chat([{ type: "image_url", image_url: { url: "data:application/pdf;base64,AAAA" } }]),
    ],
    [
      "an image that is drawn by text",
      "chat",
      chat([{ type: "image_url", image_url: { url: "data:image/svg+xml;base64,AAAA" } }]),
    ],
    [
      "audio that was not measured",
      "chat",
      chat([{ type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } }]),
    ],
    ["a file by its address", "responses", respond([{ type: "input_file", file_url: "https://x.example/a.pdf" }])],
    ["a file by its id", "responses", respond([{ type: "input_file", file_id: "file-1" }])],
    [
      "a PDF",
      "responses",
      respond([{ type: "input_file", filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" }]),
    ],
    ["a part of an unknown kind", "responses", respond([{ type: "input_video", url: "https://x.example" }])],
    ["an item of an unknown kind", "responses", { input: [{ type: "recalled_memory", id: "m" }] }],
    [
      "a PDF",
      "messages",
      message([{ type: "document", ...source("base64", { media_type: "application/pdf", data: "AAAA" }) }]),
    ],
    [
      "a document by its address",
      "messages",
      message([{ type: "document", ...source("url", { url: "https://x.example/a.pdf" }) }]),
    ],
    ["a document by its id", "messages", message([{ type: "document", ...source("file", { file_id: "f" }) }])],
    [
      "a PDF in the result of a tool",
      "messages",
      message([
        {
          type: "tool_result",
          tool_use_id: "t",
          content: [{ type: "document", ...source("base64", { media_type: "application/pdf", data: "A" }) }],
        },
      ]),
    ],
    [
      "a PDF in a document of parts",
      "messages",
      message([
        {
          type: "document",
          ...source("content", { content: [{ type: "document", ...source("url", { url: "https://x" }) }] }),
        },
      ]),
    ],
    ["a block of an unknown kind", "messages", message([{ type: "container_upload", file_id: "f" }])],
    [
      "an image that is a PDF",
      "messages",
      message([{ type: "image", ...source("base64", { media_type: "application/pdf", data: "A" }) }]),
    ],
  ])("of %s (%s) is the context, whatever its bytes are, and so is its estimate", (_, protocol, body) => {
    expect(boundPrompt(body, forms[protocol], model)).toMatchObject({
      meters: { inputToken: context },
      isOpenEnded: true,
      keepsLonger: false,
    });
    expect(boundPrompt(body, forms[protocol], {} as Model).meters.inputToken as number).toBeGreaterThan(1_000_000);
    expect(readPromptText(body, forms[protocol], model).isOpenEnded).toBe(true);
  });

  test.each<[string, File, number]>([
    ["of ten seconds of samples", wavFile(10_000), 320],
    ["of minutes of silence in a few bytes", fileOf(flacHead(0), flacFrames(100, 65_536)), Math.ceil(148.608 * 32)],
  ])("%s of audio counts what they play", async (_, file, tokens) => {
    const data = Buffer.from(await file.bytes()).toString("base64");
    const body = chat([{ type: "input_audio", input_audio: { data, format: "wav" } }]);
    await measureAudio(body as never);
    const priced = { ...model, price: { audioInputToken: { usd: "1", per: 1 } } } as Model;
    expect(boundPrompt(body, forms.chat, priced)).toMatchObject({
      meters: { audioInputToken: tokens },
      isOpenEnded: false,
    });
    expect(boundPrompt(body, forms.chat, model).meters.inputToken as number).toBeGreaterThanOrEqual(tokens);
  });

  const referring = {
    $defs: { long: { type: "string", description: long } },
    type: "object",
    properties: { a: { $ref: "#/$defs/long" }, b: { $ref: "#/$defs/long" }, c: { $ref: "#/$defs/long" } },
  };
  test.each<[string, object]>([
    ["a tool", { tools: [{ type: "function", function: { name: "f", parameters: referring } }] }],
    ["a function", { functions: [{ name: "f", parameters: referring }] }],
    ["the answer", { response_format: { type: "json_schema", json_schema: { name: "f", schema: referring } } }],
  ])("the schema of %s counts as what its references unfold to", (_, more) => {
    const body = chat("a", more);
    const { meters } = boundPrompt(body, forms.chat, model);
    expect(meters.inputToken as number).toBeGreaterThan(3 * long.length);
    expect(meters.inputToken as number).toBeLessThan(3 * long.length + 500);
    expect(readPromptText(body, forms.chat, model).otherTokens).toBeGreaterThan(long.length / 2);
  });

  test.each<[string, keyof typeof forms, object]>([
    ["a document", "messages", message([{ type: "document", ...source("url", { url: "https://x.example/a.pdf" }) }])],
    ["a file", "responses", respond([{ type: "input_file", file_url: "https:x.example/a.pdf" }])],
    ["a picture", "chat", chat([{ type: "image_url", image_url: { url: "https://x.example/a.png" } }])],
    ["a part of an unknown kind", "responses", respond([{ type: "input_video", from: { at: "gs://bucket/a" } }])],
    ["an item of an unknown kind", "responses", { input: [{ type: "recalled_memory", uri: "s3://bucket/a" }] }],
  ])("knows of an address in %s (%s), which a count may find another thing at", (_, protocol, body) => {
    expect(boundPrompt(body, forms[protocol], model).hasAddress).toBe(true);
  });

  test("takes no text, bytes or name of a file for an address", () => {
    const file = { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA", title: "Part one: the pump" };
    const body = chat([
      { type: "text", text: "https://x.example" },
      { type: "file", file },
    ]);
    expect(boundPrompt(body, forms.chat, model).hasAddress).toBe(false);
  });

  test.each([
    ["letters of another alphabet, which some decoders pass over", "-_"],
    ["spaces", "    "],
    ["an end in the middle", "AA=="],
  ])("audio whose base64 has %s is bounded by the context alone", async (_, strange) => {
    const data = Buffer.from(await wavFile(3000).bytes()).toString("base64");
    const text = `${data.slice(0, 4000)}${strange}${data.slice(4000)}`;
    const body = chat([{ type: "input_audio", input_audio: { data: text, format: "wav" } }]);
    await measureAudio(body as never);
    expect(boundPrompt(body, forms.chat, model).isOpenEnded).toBe(true);
  });

  test.each<[string, keyof typeof forms, object]>([
    ["a part", "chat", chat([{ type: "text", text: "a", cache_control: { type: "ephemeral", ttl: "1h" } }])],
    ["a tool", "messages", message("a", { tools: [{ name: "f", cache_control: { type: "ephemeral", ttl: "1h" } }] })],
    ["the request", "messages", message("a", { cache_control: { type: "ephemeral", ttl: "24h" } })],
    [
      "the result of a tool",
      "messages",
      message([{ type: "tool_result", content: [{ type: "text", text: "a", cache_control: { ttl: "1h" } }] }]),
    ],
  ])("knows of a cache mark of more than five minutes on %s (%s)", (_, protocol, body) => {
    expect(boundPrompt(body, forms[protocol], model).keepsLonger).toBe(true);
  });

  test("of a request whose marks are of five minutes does not take them for longer ones", () => {
    const body = message([{ type: "text", text: "a", cache_control: { type: "ephemeral", ttl: "5m" } }], {
      cache_control: { type: "ephemeral" },
    });
    expect(boundPrompt(body, forms.messages, model).keepsLonger).toBe(false);
  });
});

describe("the text of a prompt for an estimate", () => {
  test("is all text that is sent, and a guess of what is no text", () => {
    const body = chat(
      [
        { type: "text", text: "abc" },
        { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
      ],
      {
        tools: [{ type: "function", function: { name: "f", parameters: { type: "object" } } }],
        max_tokens: 5,
      },
    );
    const { pieces, otherTokens } = readPromptText(body, forms.chat, model);
    expect(pieces).toEqual([
      "abc",
      "tools",
      "type",
      "function",
      "function",
      "name",
      "f",
      "parameters",
      "type",
      "object",
    ]);
    expect(otherTokens).toBe(1506);
  });

  test("takes what a provider sealed by its length, since it alone can read it", () => {
    const body = { input: [{ type: "reasoning", id: "r", summary: [], encrypted_content: "s".repeat(5000) }] };
    const { pieces, otherTokens } = readPromptText(body, forms.responses, model);
    expect([pieces, otherTokens]).toEqual([["r"], 1006]);
    expect(boundPrompt(body, forms.responses, model).meters.inputToken as number).toBeGreaterThan(5000);
  });
});

test.each<[string, keyof typeof forms, number, (levels: number, last: object) => object]>([
  [
    "documents in documents",
    "messages",
    60,
    (levels, last) =>
      message([nest(levels, (inner) => ({ type: "document", ...source("content", { content: [inner] }) }), last)]),
  ],
  [
    "results in results",
    "messages",
    90,
    (levels, last) => message([nest(levels, (inner) => ({ type: "tool_result", content: [inner] }), last)]),
  ],
  [
    "an output of an unknown item",
    "responses",
    1,
    (_, last) => ({ model: "m", input: [{ type: "unknown", output: [{ type: "input_image", last }] }] }),
  ],
])("a value is read as often wherever it stands: in %s", (_, protocol, levels, make) => {
  const readsAt = (depth: number) => {
    let reads = 0;
    const last = {
      type: "text",
      get extra() {
        reads++;
        return "Hello";
      },
    };
    boundPrompt(make(depth, last), forms[protocol], model);
    return reads;
  };
  expect(readsAt(1)).toBeWithin(1, 3);
  expect(readsAt(levels)).toBe(readsAt(1));
});

const nest = (depth: number, wrap: (inner: unknown) => object, inner: unknown): unknown =>
  depth === 0 ? inner : nest(depth - 1, wrap, wrap(inner));

test.each(["chat", "messages", "responses"] as const)(
  "a number counts by the digits that are sent, however many it has: %s",
  (protocol) => {
    const digits = `0.${"31415926".repeat(50_000)}`;
    const body = `{"messages":[{"role":"user","content":"Hi","note":[${digits}]}],"x":{"n":${digits.slice(2)}}}`;
    const read = readJson(body, "body") as object;
    expect(JSON.stringify(read)).toContain(digits);
    const { meters } = boundPrompt(read, forms[protocol], {} as Model);
    expect(meters.inputToken).toBeGreaterThan(2 * digits.length - 100);
    const { pieces } = readPromptText(read, forms[protocol], {} as Model);
    expect(pieces.join("").length).toBeGreaterThan(2 * digits.length - 100);
  },
);
