import { describe, expect, test } from "bun:test";
import { expectError, type PromisedError } from "../../support/expect-error.ts";
import { answersTo } from "../../support/raw-request.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { wavFile } from "../../support/wav.ts";

const shared = useSandboxGateway();
const messages = [{ role: "user", content: "Hello" }];
const chat = { model: "famA-4o-mini", messages };
const json = (path: string, body: unknown, headers?: Record<string, string>) => () =>
  shared.gateway.post(path, body, headers);
const method = (name: string, path: string) => () => shared.gateway.ask(path, { method: name });
const form = (model: string) => () => {
  const body = new FormData();
  body.append("file", wavFile(1000));
  body.append("model", model);
  return shared.gateway.ask("/audio/transcriptions", { method: "POST", body });
};

const wrong: [string, () => Promise<Response>, PromisedError][] = [
  ["broken JSON", json("/chat/completions", '{"model": "famA-4o-mini", '), { status: 400, says: "JSON" }],
  ["an empty body", json("/chat/completions", ""), { status: 400 }],
  ["an array as the body", json("/chat/completions", []), { status: 400 }],
  ["null as the body", json("/chat/completions", "null"), { status: 400 }],
  ["a text as the body", json("/chat/completions", '"hello"'), { status: 400 }],
  ["a number as the body", json("/embeddings", "5"), { status: 400 }],
  [
    "a body of another type",
    json("/chat/completions", "model=famA-4o", { "content-type": "application/x-www-form-urlencoded" }),
    { status: 400 },
  ],
  ["JSON where a form is wanted", json("/audio/transcriptions", {}), { status: 400, says: "multipart" }],
  [
    "a form that is none",
    json("/audio/transcriptions", "hello", { "content-type": "multipart/form-data; boundary=x" }),
    { status: 400 },
  ],
  [
    "a form without a boundary",
    json("/audio/transcriptions", "hello", { "content-type": "multipart/form-data" }),
    { status: 400 },
  ],
  [
    "a form where JSON is wanted",
    json("/chat/completions", '--x\r\ncontent-disposition: form-data; name="model"\r\n\r\nfamA-4o\r\n--x--\r\n', {
      "content-type": "multipart/form-data; boundary=x",
    }),
    { status: 400 },
  ],
  [
    "an unknown model",
    json("/chat/completions", { ...chat, model: "nobody" }),
    { status: 400, param: "model", code: "model_not_found", says: "nobody" },
  ],
  [
    "a user's message without content",
    json("/chat/completions", { ...chat, messages: [{ role: "user" }] }),
    { status: 400, param: "messages[0].content" },
  ],
  [
    "an unknown embedding model",
    json("/embeddings", { model: "nobody", input: "a" }),
    { status: 400, param: "model", code: "model_not_found" },
  ],
  ["an unknown transcription model", form("nobody"), { status: 400, param: "model", code: "model_not_found" }],
  [
    "an embedding model for chat",
    json("/chat/completions", { ...chat, model: "text-embedding-3-small" }),
    { status: 400, param: "model" },
  ],
  [
    "a chat model for embeddings",
    json("/embeddings", { model: "famA-4o", input: "a" }),
    { status: 400, param: "model" },
  ],
  [
    "a chat model for images",
    json("/images/generations", { model: "famA-4o", prompt: "a" }),
    { status: 400, param: "model" },
  ],
  ["a chat model for transcriptions", form("famA-4o"), { status: 400, param: "model" }],
  ["a chat model for speech", json("/audio/speech", { model: "famA-4o", input: "a" }), { status: 400, param: "model" }],
  ["an unknown path", method("GET", "/nowhere"), { status: 404, code: "not_found" }],
  ["a path beyond an endpoint", json("/chat/completions/more", chat), { status: 404 }],
  [
    "GET where POST is wanted",
    method("GET", "/chat/completions"),
    { status: 405, code: "method_not_allowed", says: "POST" },
  ],
  ["DELETE where POST is wanted", method("DELETE", "/embeddings"), { status: 405, says: "POST" }],
  ["PUT where GET is wanted", method("PUT", "/models"), { status: 405, says: "GET" }],
  [
    "a role with a newline and quotes",
    json("/chat/completions", { ...chat, messages: [{ role: 'u"\n', content: "a" }] }),
    { status: 400, param: "messages[0].role" },
  ],
];

describe("a wrong request", () => {
  test.each(wrong)("%s is refused in one sentence, and costs nothing", async (_, ask, promised) => {
    const before = shared.ledger.counts();
    await expectError(await ask(), promised);
    expect(shared.ledger.counts()).toEqual(before);
  });

  test("a missing endpoint outside the base path is 404 in the same shape", async () => {
    await expectError(await fetch(`${shared.gateway.origin}/nowhere`), { status: 404 });
  });

  test("a WebSocket behind a proxy that hands on no upgrade is refused with what is missing, and its connection is closed", async () => {
    const { origin, key: apiKey } = shared.gateway;
    for (const path of ["/v1/responses", "/api/v1/responses"]) {
      const lines = ["Host: gate", `Authorization: Bearer ${apiKey}`, "Sec-WebSocket-Version: 13"];
      const key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==";
      const text = await answersTo(origin, [`GET ${path} HTTP/1.1`, ...lines, key, "", ""].join("\r\n"));
      const [head = "", body = ""] = text.split("\r\n\r\n");
      expect(head).toMatch(/^HTTP\/1\.1 426 /);
      expect(head.toLowerCase().split("\r\n")).toEqual(
        expect.arrayContaining(["upgrade: websocket", "connection: close"]),
      );
      const { error } = JSON.parse(body);
      expect(error).toMatchObject({ type: "invalid_request_error", param: null, code: "upgrade_required" });
    }
  });

  test("an Allow header goes with 405", async () => {
    expect((await method("GET", "/chat/completions")()).headers.get("allow")).toContain("POST");
  });

  test("HEAD and OPTIONS do not fail inside", async () => {
    for (const name of ["HEAD", "OPTIONS"]) {
      expect((await method(name, "/models")()).status).toBeLessThan(500);
    }
  });

  test("the ledger is right after all of them", async () => {
    expect((await shared.gateway.run("ledger", "verify")).code).toBe(0);
    expect(shared.ledger.counts().open).toBe(0);
  });
});
