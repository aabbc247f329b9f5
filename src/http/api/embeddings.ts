import { GatewayError } from "../../contract/index.ts";
import { isRecord } from "../../lib/json.ts";
import {
  EmbeddingList,
  EmbeddingsBody,
  EmbeddingsRequest,
  TokenListsRequest,
  TokensRequest,
} from "../../provider/index.ts";
import type { HttpDeps } from "../deps.ts";
import { callRoute, jsonBody } from "../lifecycle/call-routes.ts";
import { executeCall } from "../lifecycle/execute.ts";
import { jsonReply } from "../lifecycle/respond.ts";
import { responses } from "./openapi.ts";

/** The kind of input that a body was meant to have, whose error is the one to tell. */
function choose(body: unknown) {
  const input = isRecord(body) && Array.isArray(body.input) ? body.input[0] : undefined;
  if (Array.isArray(input)) return TokenListsRequest;
  return typeof input === "number" ? TokensRequest : EmbeddingsRequest;
}

/** The size of a vector, as Voyage and Cohere call it and as Google does. */
const sizeNames = ["output_dimension", "output_dimensionality"];
/** The type of its numbers, as Voyage, Jina and Cohere call it: vectors are floats here. */
const typeNames = ["output_dtype", "embedding_type", "embedding_types"];

/**
 * Translates a request that was written for another API into OpenAI's fields.
 *
 * @throws {GatewayError} `invalid_request` for vectors of another type: its client would read floats as something else.
 */
function fromOtherHabits(body: EmbeddingsBody): EmbeddingsBody {
  const fields: Record<string, unknown> = { ...body };
  for (const name of sizeNames) {
    const value = fields[name];
    delete fields[name];
    if (value === undefined || value === null) continue;
    if (!Number.isInteger(value) || (value as number) < 1) throw wrong(name, "a whole number from 1");
    fields.dimensions ??= value;
  }
  for (const name of typeNames) {
    const value = fields[name];
    delete fields[name];
    if (value === undefined || value === null) continue;
    if (![value].flat().every((type) => type === "float")) throw wrong(name, "float");
  }
  return fields as EmbeddingsBody;
}

function wrong(param: string, expected: string): GatewayError {
  return new GatewayError("invalid_request", `Invalid ${param}: expected ${expected}`, { param });
}

/** POST /embeddings. */
export function embeddingsController(deps: HttpDeps) {
  return [
    callRoute(
      deps,
      {
        path: "/embeddings",
        body: jsonBody(deps, EmbeddingsBody, { capability: "embeddings", choose }),
        detail: {
          summary: "Vector embeddings",
          tags: ["Calls"],
          responses: responses({ "application/json": EmbeddingList }),
        },
      },
      async ({ call, body }) =>
        jsonReply(
          deps,
          call,
          await executeCall(deps, call, { capability: "embeddings", request: fromOtherHabits(body) }),
        ),
    ),
  ];
}
