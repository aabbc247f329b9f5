import type { Gateway } from "../../support/gateway.ts";
import { wavFile } from "../../support/wav.ts";
import {
  chatModels,
  embeddingModels,
  imageModels,
  type SpecifiedModel,
  speechModels,
  transcriptionModels,
} from "./tables.ts";

/** Asks an endpoint for an answer of a model. */
export type Ask = (gateway: Gateway, model: string, headers?: Record<string, string>) => Promise<Response>;

const json =
  (path: string, body: object): Ask =>
  (gateway, model, headers) =>
    gateway.post(path, { model, ...body }, headers);

const transcribe: Ask = (gateway, model, headers = {}) => {
  const body = new FormData();
  body.append("file", wavFile(1000));
  body.append("model", model);
  return gateway.ask("/audio/transcriptions", { method: "POST", body, headers });
};

/** Every endpoint that makes something, with its models and the smallest request that it takes. */
export const endpoints: readonly { path: string; models: readonly SpecifiedModel[]; ask: Ask }[] = [
  {
    path: "/chat/completions",
    models: chatModels,
    ask: json("/chat/completions", { messages: [{ role: "user", content: "Hello" }], max_tokens: 20 }),
  },
  { path: "/embeddings", models: embeddingModels, ask: json("/embeddings", { input: "Hello" }) },
  { path: "/images/generations", models: imageModels, ask: json("/images/generations", { prompt: "A kite" }) },
  { path: "/audio/transcriptions", models: transcriptionModels, ask: transcribe },
  { path: "/audio/speech", models: speechModels, ask: json("/audio/speech", { input: "Hello" }) },
];
