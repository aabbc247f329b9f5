import { describe, expect, test } from "bun:test";
import { formBytesMax, jsonBytesMax } from "../../../../src/http/lifecycle/read-body.ts";
import { jsonBounds } from "../../../../src/lib/json.ts";
import { expectError } from "../../../support/expect-error.ts";
import { goodKey, httpOf, messages } from "../support.ts";

const json = { "content-type": "application/json" };
const posts = [
  "chat/completions",
  "embeddings",
  "images/generations",
  "audio/transcriptions",
  "audio/speech",
  "moderations",
  "rerank",
];

/** A body that tells whether anyone began to read it. */
function watchedBody() {
  const state = { read: false };
  const body = new ReadableStream(
    {
      pull(controller) {
        state.read = true;
        controller.enqueue(new TextEncoder().encode("{}"));
        controller.close();
      },
    },
    { highWaterMark: 0 },
  );
  return { body, state };
}

describe("a stranger", () => {
  test.each(posts)("is sent away from %s before the body is read, or the schema shown", async (path) => {
    const { ask } = httpOf();
    for (const authorization of ["", "Bearer wrong", goodKey, `Basic ${goodKey}`, `Bearer${goodKey}`]) {
      for (const type of ["application/json", "text/plain", "multipart/form-data; boundary=x"]) {
        const { body, state } = watchedBody();
        const response = await ask(path, { method: "POST", headers: { "content-type": type, authorization }, body });
        await expectError(response, { status: 401, code: "invalid_api_key", param: null });
        expect([state.read, response.headers.get("www-authenticate")]).toEqual([false, "Bearer"]);
      }
    }
  });

  test.each(posts)("is sent away from %s without a body too", async (path) => {
    const { ask } = httpOf();
    await expectError(await ask(path, { method: "POST", headers: { authorization: "" } }), { status: 401 });
  });

  test("with an endless key is sent away unread", async () => {
    const { ask, tokens } = httpOf();
    const response = await ask("models", { headers: { authorization: `Bearer ${"x".repeat(600)}` } });
    await expectError(response, { status: 401 });
    expect(tokens).toEqual([]);
  });
});

describe("a key", () => {
  test.each([`Bearer ${goodKey}`, `bearer ${goodKey}`, `BEARER  ${goodKey} `])(
    "is read from %p",
    async (authorization) => {
      const { ask } = httpOf();
      expect((await ask("models", { headers: { authorization } })).status).toBe(200);
    },
  );

  test("is checked once a request", async () => {
    const { post, ask, tokens } = httpOf();
    await post("chat/completions", { model: "chat-1", messages });
    expect(tokens).toEqual([goodKey]);
    await ask("key");
    expect(tokens).toEqual([goodKey, goodKey]);
  });
});

describe("a body", () => {
  test.each([
    ["empty", "", "The body is empty"],
    ["half", '{"model":', "Cannot read the body as JSON"],
    ["no JSON", "model=chat-1", "Cannot read the body as JSON"],
    ["null", "null", "The body is null, but an object was expected"],
    ["a list", "[]", "The body is an empty array, but an object was expected"],
    ["a word", '"chat"', 'The body is "chat", but an object was expected'],
  ])("that is %s is refused with the reason", async (_, body, says) => {
    const { post, ledger } = httpOf();
    await expectError(await post("chat/completions", body), { status: 400, says });
    expect(ledger.claims).toEqual([]);
  });

  test.each([false, true])("that is not UTF-8 is refused, sent in chunks %p", async (inChunks) => {
    const [before, after] = JSON.stringify({ model: "chat-1", messages }).split("hello");
    const bytes = Buffer.concat([
      Buffer.from(before as string),
      Buffer.from([0xc3, 0x28]),
      Buffer.from(after as string),
    ]);
    const body = inChunks ? new Blob([bytes]).stream() : bytes;
    const headers = inChunks ? json : { ...json, "content-length": String(bytes.length) };
    const { ask, ledger } = httpOf();
    const response = await ask("chat/completions", { method: "POST", headers, body });
    await expectError(response, { status: 400, says: "The body is not valid UTF-8" });
    expect(ledger.claims).toEqual([]);
  });

  test("of several bytes a character is read, wherever a chunk ends", async () => {
    const text = JSON.stringify({ model: "é€😀", messages });
    const bytes = [...new TextEncoder().encode(text)].map((byte) => new Uint8Array([byte]));
    const body = new ReadableStream({
      start(controller) {
        for (const byte of bytes) controller.enqueue(byte);
        controller.close();
      },
    });
    const response = await httpOf().ask("chat/completions", { method: "POST", headers: json, body });
    await expectError(response, { status: 400, says: "The model 'é€😀' does not exist here" });
  });

  test.each(posts)("that is compressed is refused by %s", async (path) => {
    const { body, state } = watchedBody();
    const headers = { "content-type": "multipart/form-data; boundary=x", "content-encoding": "gzip" };
    const response = await httpOf().ask(path, { method: "POST", headers, body });
    await expectError(response, { status: 415, code: "unsupported_media_type", says: "Content-Encoding is not" });
    expect(state.read).toBe(false);
  });

  test("is read as JSON whatever its content type says", async () => {
    const body = JSON.stringify({ model: "chat-1", messages });
    const { ask } = httpOf();
    for (const type of ["text/plain", "application/octet-stream", "application/json; charset=utf-8", "nonsense"]) {
      const response = await ask("chat/completions", { method: "POST", headers: { "content-type": type }, body });
      expect([type, response.status]).toEqual([type, 200]);
    }
  });

  test.each([
    ["chat/completions", "application/json", jsonBytesMax],
    ["audio/transcriptions", "multipart/form-data; boundary=x", formBytesMax],
  ])("that says it is too large for %s is refused unread", async (path, type, bytesMax) => {
    const { ask } = httpOf();
    const { body, state } = watchedBody();
    const headers = { "content-type": type, "content-length": String(bytesMax + 1) };
    await expectError(await ask(path, { method: "POST", headers, body }), { status: 413 });
    expect(state.read).toBe(false);
  });

  test("that is too large without saying so is refused", async () => {
    const { ask } = httpOf();
    const body = new Blob([new Uint8Array(jsonBytesMax + 1).fill(32)]).stream();
    const response = await ask("chat/completions", { method: "POST", headers: json, body });
    await expectError(response, { status: 413, code: "payload_too_large" });
  });

  test.each([
    [jsonBounds.body.depthMax - 1, 200],
    [jsonBounds.body.depthMax, 400],
    [100_000, 400],
  ])("with a list nested %d deep is answered with %d", async (levels, status) => {
    const { post } = httpOf();
    const deep = `${"[".repeat(levels)}${"]".repeat(levels)}`;
    const body = `{"model":"chat-1","messages":${JSON.stringify(messages)},"extra":${deep}}`;
    expect((await post("chat/completions", body)).status).toBe(status);
  });

  test.each(["toString", "valueOf", "toJSON", "__proto__"])(
    "with a field named %s is refused like any other",
    async (name) => {
      const { post } = httpOf();
      const body = `{"model":{"${name}":1},"messages":${JSON.stringify(messages)}}`;
      await expectError(await post("chat/completions", body), {
        status: 400,
        param: "model",
        says: "model is an object",
      });
    },
  );

  test("of another endpoint's kind is refused", async () => {
    const form = new FormData();
    form.set("model", "chat-1");
    const { ask, post } = httpOf();
    const sent = await ask("chat/completions", { method: "POST", body: form });
    await expectError(sent, { status: 400 });
    await expectError(await post("audio/transcriptions", {}), { status: 400, says: "multipart/form-data" });
  });

  test("that is a broken form is refused", async () => {
    const { ask } = httpOf();
    for (const type of ["multipart/form-data", "multipart/form-data; boundary=x"]) {
      const headers = { "content-type": type };
      const response = await ask("audio/transcriptions", { method: "POST", headers, body: "no form at all" });
      await expectError(response, { status: 400 });
    }
  });
});
