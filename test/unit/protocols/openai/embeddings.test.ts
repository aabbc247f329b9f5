import { describe, expect, test } from "bun:test";
import { toEmbeddings } from "../../../../src/protocols/openai/embeddings.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { recordingAt, recordingsMissing, recordingsOf } from "../../../support/recordings.ts";
import { fakeCall, plainModel } from "../../sdk/fake-call.ts";

const row = (index: number, embedding: unknown) => ({ object: "embedding", index, embedding });

describe("embed", () => {
  test("sends the request as it is and takes vectors as they come", async () => {
    const answer = { data: [row(0, "AACAPw==")], usage: { prompt_tokens: 3, total_tokens: 3 } };
    const request = { model: "acme-1", input: "a", dimensions: 1, encoding_format: "base64" as const, user: null };
    const { call, asked } = fakeCall(request, { json: answer });
    const result = await openai({ embeddings: {} }).embeddings?.(call);
    expect(asked[0]).toEqual({
      method: "json",
      path: "/embeddings",
      body: { model: "acme-one", input: "a", dimensions: 1, encoding_format: "base64" },
    });
    expect(result).toEqual({ vectors: ["AACAPw=="], usage: { prompt_tokens: 3 } });
  });

  test("leaves out what the provider does not know", async () => {
    const request = { model: "acme-1", input: ["a"], encoding_format: "base64" as const };
    const { call, asked, notes } = fakeCall(request, { json: { data: [row(0, [1])] } }, plainModel);
    await openai({ embeddings: { omit: ["encoding_format"] } }).embeddings?.(call);
    expect(asked[0]?.body).toEqual({ model: "acme-one", input: ["a"] });
    expect(notes).toEqual(["Left out encoding_format: the provider does not take it"]);
  });

  test("puts vectors in the order of their index", () => {
    expect(toEmbeddings({ data: [row(1, [2]), row(0, [1])] })).toEqual({ vectors: [[1], [2]] });
  });

  test.each([
    ["no vectors", { data: "none" }],
    ["an error", { error: { message: "No" } }],
    ["a row without a vector", { data: [row(0, null)] }],
    ["an empty vector", { data: [row(0, [])] }],
    ["an index twice", { data: [row(0, [1]), row(0, [1])] }],
    ["an index beyond", { data: [row(7, [1])] }],
    ["a text", "<html>"],
  ])("refuses an answer with %s", (_, answer) => {
    expect(() => toEmbeddings(answer)).toThrow(
      expect.objectContaining({ name: "UpstreamError", kind: "bad_response" }),
    );
  });

  if (recordingsMissing !== undefined) test.skip(recordingsMissing, () => undefined);
  const recorded = recordingsOf("openai", "together").filter(({ capability }) => capability === "embeddings");
  test.each(recorded.map(({ path }) => path))("reads %s", (path) => {
    const raw = JSON.parse(new TextDecoder().decode(recordingAt(path).body));
    const { vectors, usage } = toEmbeddings(structuredClone(raw));
    expect(vectors).toEqual(raw.data.map(({ embedding }: { embedding: string }) => embedding));
    expect(usage?.prompt_tokens).toBe(raw.usage?.prompt_tokens);
  });
});
