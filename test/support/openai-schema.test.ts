import { describe, expect, test } from "bun:test";
import { faultsOf, type SchemaName, schemaMissing } from "./openai-schema.ts";
import { recordingAt, recordingsMissing } from "./recordings.ts";

const usage = { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 };
const message = { role: "assistant", content: "Hi", refusal: null };
const choice = { index: 0, message, finish_reason: "stop", logprobs: null };
const completion = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m", choices: [choice], usage };
const chunk = {
  id: "chatcmpl-1",
  object: "chat.completion.chunk",
  created: 1,
  model: "m",
  choices: [{ index: 0, delta: { role: "assistant", content: "" }, finish_reason: null }],
};
const embeddings = {
  object: "list",
  model: "m",
  data: [{ object: "embedding", index: 0, embedding: [0.5] }],
  usage: { prompt_tokens: 1, total_tokens: 1 },
};
const model = { id: "m", object: "model", created: 1, owned_by: "o" };
const verbose = { task: "transcribe", language: "english", duration: 1.5, text: "Hi" };

const right: [SchemaName, string, unknown][] = [
  ["CreateChatCompletionResponse", "an answer", completion],
  ["CreateChatCompletionStreamResponse", "a first chunk", chunk],
  ["CreateChatCompletionStreamResponse", "a usage chunk", { ...chunk, choices: [], usage }],
  ["CreateChatCompletionStreamResponse", "a chunk with null usage", { ...chunk, usage: null }],
  ["CreateEmbeddingResponse", "float vectors", embeddings],
  [
    "CreateEmbeddingResponse",
    "base64",
    { ...embeddings, data: [{ object: "embedding", index: 0, embedding: "AAAAPw==" }] },
  ],
  ["CreateTranscriptionResponseJson", "a text", { text: "Hi" }],
  ["CreateTranscriptionResponseVerboseJson", "a verbose text", verbose],
  ["ImagesResponse", "an image by address", { created: 1, data: [{ url: "http://127.0.0.1/a.png" }] }],
  ["ErrorResponse", "an error", { error: { message: "No", type: "invalid_request_error", param: null, code: null } }],
  ["ListModelsResponse", "a list", { object: "list", data: [model] }],
  ["Model", "a model", model],
];

const wrong: [SchemaName, string, unknown][] = [
  [
    "CreateChatCompletionResponse",
    "no refusal",
    { ...completion, choices: [{ ...choice, message: { role: "assistant", content: "" } }] },
  ],
  ["CreateChatCompletionResponse", "no logprobs", { ...completion, choices: [{ ...choice, logprobs: undefined }] }],
  [
    "CreateChatCompletionResponse",
    "finish_reason eos",
    { ...completion, choices: [{ ...choice, finish_reason: "eos" }] },
  ],
  ["CreateChatCompletionResponse", "system_fingerprint null", { ...completion, system_fingerprint: null }],
  ["CreateChatCompletionResponse", "service_tier on_demand", { ...completion, service_tier: "on_demand" }],
  ["CreateChatCompletionStreamResponse", "no created", { ...chunk, created: undefined }],
  ["CreateChatCompletionStreamResponse", "no finish_reason", { ...chunk, choices: [{ index: 0, delta: {} }] }],
  ["CreateEmbeddingResponse", "no usage", { ...embeddings, usage: undefined }],
  [
    "CreateEmbeddingResponse",
    "a vector of text",
    { ...embeddings, data: [{ object: "embedding", index: 0, embedding: ["a"] }] },
  ],
  ["CreateTranscriptionResponseJson", "no text", {}],
  ["CreateTranscriptionResponseVerboseJson", "no duration", { ...verbose, duration: undefined }],
  ["ImagesResponse", "no created", { data: [] }],
  ["ErrorResponse", "no param", { error: { message: "No", type: "t", code: null } }],
  ["ListModelsResponse", "a bare array", [model]],
  ["Model", "no owner", { ...model, owned_by: undefined }],
];

/** As it would be after the wire: `undefined` members are gone. */
const wire = (body: unknown) => JSON.parse(JSON.stringify(body));

describe.skipIf(schemaMissing !== undefined)("OpenAI's description", () => {
  test.each(right)("%s takes %s", (name, _, body) => {
    expect(faultsOf(name, wire(body))).toEqual([]);
  });

  test.each(wrong)("%s rejects %s", (name, _, body) => {
    expect(faultsOf(name, wire(body))).not.toEqual([]);
  });

  test.skipIf(recordingsMissing !== undefined)("takes a real answer of OpenAI", () => {
    const { body } = recordingAt("openai/chat-text/gpt-4o-mini-basic.json");
    expect(faultsOf("CreateChatCompletionResponse", JSON.parse(Buffer.from(body).toString()))).toEqual([]);
  });
});

if (schemaMissing !== undefined) console.log(`Skipped: ${schemaMissing}`);
