import { describe, expect, test } from "bun:test";
import { checkTokenBounds, fetchDocuments } from "../../../src/identity/bounded-documents.ts";
import { TokenVerifier } from "../../../src/identity/tokens/token-verifier.ts";
import { JsonBoundsError } from "../../../src/lib/json.ts";
import { errorOf } from "../../support/error-of.ts";

const deep = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
const wide = `[${"{},".repeat(60_000)}{}]`;
const encode = (text: string) => Buffer.from(text).toString("base64url");
const tokenOf = (header: string, payload: string) => `${encode(header)}.${encode(payload)}.AAAA`;
const plainToken = tokenOf('{"alg":"RS256"}', '{"iss":"https://id.example","groups":["a"]}');

const answering = (body: string, init: ResponseInit = {}) => fetchDocuments(async () => new Response(body, init));

describe("an answer of an identity provider", () => {
  test.each([
    ["plain metadata", '{"issuer":"https://id.example"}'],
    ["a token", JSON.stringify({ id_token: plainToken, access_token: "opaque" })],
    ["claims as a token", plainToken],
    ["a page, of which the library says that it is none", "<html>"],
    ["nothing", ""],
  ])("is given on as it came: %s", async (_, body) => {
    const fetch = answering(body, { status: 201, headers: { "content-type": "application/json", etag: "1" } });
    const response = await fetch("", undefined);
    expect([response.status, response.headers.get("etag"), await response.text()]).toEqual([201, "1", body]);
  });

  test.each([
    ["nested too deep", deep],
    ["of too many values", wide],
    ["a token with a nested payload", JSON.stringify({ id_token: tokenOf("{}", deep) })],
    ["a token with a nested header", tokenOf(deep, "{}")],
  ])("is refused before the library parses it: %s", async (_, body) => {
    expect(await errorOf(answering(body)("", undefined))).toBeInstanceOf(JsonBoundsError);
  });

  test("is read no further than its bound", async () => {
    let pieces = 0;
    const endless = new ReadableStream({
      pull(controller) {
        pieces++;
        controller.enqueue(new Uint8Array(64 * 1024));
      },
    });
    const fetch = fetchDocuments(async () => new Response(endless));
    expect((await errorOf(fetch("", undefined))) as Error).toMatchObject({
      message: expect.stringContaining("larger than"),
    });
    expect(pieces).toBeLessThan(10);
  });
});

describe("a token of a caller", () => {
  test("is within the bounds of a document, or is none", () => {
    expect(() => checkTokenBounds(plainToken)).not.toThrow();
    expect(() => checkTokenBounds("sk-mg-1-2")).not.toThrow();
    expect(() => checkTokenBounds(tokenOf("{}", deep))).toThrow(JsonBoundsError);
  });

  test("that is nested too deep is malformed, before anything of it is parsed", async () => {
    const verifier = new TokenVerifier(async () => ({ keys: [] }), Date.now);
    const error = await errorOf(
      verifier.verify(tokenOf('{"alg":"RS256"}', `{"iss":"https://id.example","a":${deep}}`), []),
    );
    expect(error).toMatchObject({ code: "invalid_api_key", message: expect.stringContaining("malformed") });
  });
});
