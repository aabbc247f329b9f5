import { describe, expect, test } from "bun:test";
import { GatewayError, UpstreamError } from "../../../src/contract/index.ts";
import { KeyPool } from "../../../src/kernel/routing/circuits.ts";
import type { Call, ChatCompletion, ChatRequest } from "../../../src/provider/index.ts";
import { fetchOf, json, refused } from "./fake-fetch.ts";
import { chatCall, createBench, createPlugin, rejectionOf, runCall } from "./support.ts";

const key = "no-known-form-0123456789";
const other = "another-0123456789";
const chat = (call: Call<ChatRequest>) => call.upstream.json<ChatCompletion>("/chat", { model: call.model.upstreamId });

function ask(handler: (call: Call<ChatRequest>) => Promise<ChatCompletion>, ...answers: Response[]) {
  const bench = createBench([createPlugin({ chat: handler })], {
    fetch: fetchOf(...answers),
    credentials: { acme: { keys: [key, other] } },
  });
  return rejectionOf(runCall(bench.kernel, chatCall()));
}

describe("a key that a provider repeats", () => {
  test.each([400, 404, 413, 422, 429, 500, 503])("with %d is not told to the caller", async (status) => {
    const details = { message: `Bad key ${key} or ${other}`, code: key, param: key };
    const { message, publicCode, param } = await ask(chat, refused(status, details));
    expect(JSON.stringify({ message, publicCode, param })).not.toContain("0123456789");
  });

  test("in a 400 leaves the rest of the sentence as it was", async () => {
    const error = await ask(chat, refused(400, { message: `Bad key ${key}, use another`, param: "model" }));
    expect([error.code, error.message, error.param]).toEqual([
      "invalid_request",
      "Bad key [hidden], use another",
      "model",
    ]);
  });

  test("in a 400 is not told in another form either", async () => {
    const user = "account-1:";
    const forms = [
      encodeURIComponent(`${key}/`),
      JSON.stringify(JSON.stringify({ key })),
      Buffer.from(key).toString("hex"),
      Buffer.from(key).toString("hex").toUpperCase(),
      ...["", "a", "ab", user].map((before) => Buffer.from(`${before}${key}`).toString("base64")),
      ...["", "a", "ab"].map((before) => Buffer.from(`${before}${key} and more`).toString("base64url")),
    ];
    const told: string[] = [];
    for (const form of forms) {
      const { message } = await ask(chat, refused(400, { message: `Bad header: Basic ${form}` }));
      const decoded = ["hex", "base64"].map((encoding) =>
        Buffer.from(message.replace("Bad header: Basic ", ""), encoding as "hex").toString(),
      );
      if ([message, ...decoded].some((text) => /0123|form/.test(text)) || !message.includes("[hidden]"))
        told.push(form);
    }
    expect(told).toEqual([]);
  });

  test("in an answer that is an error inside is not told either", async () => {
    const error = await ask(chat, json({ error: { message: `Bad key ${key}`, code: 400 } }));
    expect(error.message).not.toContain(key);
  });

  test.each([
    ["fault", new UpstreamError("bad_request", `Bad key ${key}`)],
    ["refusal", new GatewayError("invalid_request", `Bad key ${key}`, { param: key, publicCode: key })],
    ["error", new Error(`Bad key ${key}`)],
  ])("in a plugin's own %s is not told either", async (_, thrown) => {
    const error = await ask(() => Promise.reject(thrown));
    expect(JSON.stringify([error.message, error.param, error.publicCode])).not.toContain(key);
  });
});

test("a key of few letters is a word, and stays", () => {
  expect(new KeyPool(["none"]).hide("none of it")).toBe("none of it");
});
