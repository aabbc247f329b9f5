import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { TypeCompiler } from "@sinclair/typebox/compiler";
import type { SchemaError } from "../../../../src/http/lifecycle/validate.ts";
import type { ReasoningEnvelope } from "../../../../src/protocols/reasoning.ts";
import {
  createResponseHead,
  type ResponseEvent,
  type ResponseHead,
  ResponseStream,
} from "../../../../src/protocols/responses/client-stream.ts";
import {
  fromResponsesRequest,
  type ResponsePlan,
  type TranslationOptions,
} from "../../../../src/protocols/responses/inbound.ts";
import { ResponsesRequest } from "../../../../src/protocols/responses/schema.ts";
import type { ChatChunk } from "../../../../src/provider/index.ts";

/** The cases of a folder, each with the sentence it stands for. A new case is a new file. */
export function goldenCases<Case extends { about: string }>(folder: string): [about: string, golden: Case][] {
  const path = join(import.meta.dir, "golden", folder);
  return readdirSync(path)
    .sort()
    .map((file) => JSON.parse(readFileSync(join(path, file), "utf8")) as Case)
    .map((golden) => [golden.about, golden]);
}

/** An envelope of `model-1` that can be read in a golden file. */
const openEnvelope: ReasoningEnvelope = {
  seal: ({ model: _, ...reasoning }) => `sealed:${JSON.stringify(reasoning)}`,
  open(text) {
    if (!text.startsWith("sealed:")) return { origin: "provider" };
    return { origin: "own", reasoning: { model: "model-1", ...JSON.parse(text.slice(7)) } };
  },
};

const schema = TypeCompiler.Compile(ResponsesRequest);

export function isRequest(value: unknown): value is ResponsesRequest {
  return schema.Check(value);
}

export function translate(request: object, options: Partial<TranslationOptions> = {}) {
  if (!isRequest(request)) throw new TypeError(`Not a request: ${JSON.stringify([...schema.Errors(request)][0])}`);
  return fromResponsesRequest(request, { envelope: openEnvelope, model: "model-1", stored: false, ...options });
}

export const head: ResponseHead = createResponseHead("model-1", () => 1_700_000_005_000, "0abc");

export function planFor(request: object = {}): ResponsePlan {
  return translate({ model: "model-1", input: "Hi", ...request }).plan;
}

/** All events of an answer that comes in these chunks. */
export function eventsOf(plan: ResponsePlan, chunks: readonly ChatChunk[]): ResponseEvent[] {
  const stream = new ResponseStream(plan, head);
  return [...chunks.flatMap((chunk) => stream.push(chunk)), ...stream.finish()];
}

/** A value as it goes over the wire. */
export function sent<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

/** The first thing that is wrong with a body by the schema. */
export function schemaError(value: unknown): SchemaError {
  return schema.Errors(value).First() as unknown as SchemaError;
}
