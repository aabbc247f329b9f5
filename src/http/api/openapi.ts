import { type TSchema, Type } from "@sinclair/typebox";
import { ChatCompletion } from "../../contract/index.ts";

/** The error body, for the OpenAPI document. */
const ErrorAnswer = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    param: Type.Union([Type.String(), Type.Null()]),
    code: Type.Union([Type.String(), Type.Null()]),
  }),
});

const errors = {
  400: "The request is invalid, or the model is unknown",
  401: "The API key is missing or not valid, or there is no session",
  403: "Quota, budget or balance used up, or not permitted",
  404: "Not found",
  413: "The body is too large",
  429: "Rate limited; `retry-after` says for how long",
  500: "The provider failed",
  503: "Shutting down, overloaded, or the database does not answer",
} as const;

/** How calls can fail. */
const errorsOfCalls = [400, 401, 403, 413, 429, 500, 503] as const;

const header = (description: string, required = false) => ({ description, required, schema: { type: "string" } });
const headers = { "x-request-id": header("The id of the call in the request log", true) };
const headersOfLimits = { ...headers, "retry-after": header("Seconds after which a retry can succeed") };

/** What can be answered to any request before or beside its endpoint. */
export const commonResponses = {
  404: { description: errors[404], content: toContent({ "application/json": ErrorAnswer }) },
  405: {
    description: "The path takes other methods; `allow` lists them",
    content: toContent({ "application/json": ErrorAnswer }),
  },
  431: { description: "The headers are too large; the answer has no body" },
};

const { choices, object: _, ...ofAnswer } = ChatCompletion.properties;
const { index, message, finish_reason } = choices.items.properties;

const ChatChunkAnswer = Type.Object({
  ...ofAnswer,
  object: Type.Literal("chat.completion.chunk"),
  choices: Type.Array(
    Type.Object({
      index,
      delta: Type.Partial(message),
      finish_reason: Type.Optional(Type.Union([finish_reason, Type.Null()])),
    }),
  ),
});

/** An event of a chat stream, for the OpenAPI document: its `data` is a chunk as JSON, or `[DONE]`. */
export const ChatEvent = Type.Object({
  data: Type.Union([
    Type.String({ contentMediaType: "application/json", contentSchema: ChatChunkAnswer }),
    Type.Literal("[DONE]"),
  ]),
});

/** An event of a stream whose events have names, for the OpenAPI document. */
export const NamedEvent = Type.Object({
  event: Type.String(),
  data: Type.String({ contentMediaType: "application/json" }),
});

/** The answer of the endpoints that count. */
export const InputTokens = Type.Object({ input_tokens: Type.Integer() }, { additionalProperties: true });

/** A body of bytes, for the OpenAPI document. */
export const Bytes = Type.String({ format: "binary" });

/**
 * The responses of an endpoint, for the OpenAPI document (`detail.responses`). They are not validated at run time, which
 * would cost every call; a test compares them with real responses.
 *
 * @param success The successful response, by its media type.
 */
export function responses(
  success: Record<string, TSchema>,
  failures: readonly (keyof typeof errors)[] = errorsOfCalls,
) {
  const bad = failures.map((status) => [
    status,
    {
      description: errors[status],
      headers: (status === 429 || status === 503 ? headersOfLimits : headers) as never,
      content: toContent({ "application/json": ErrorAnswer }),
    },
  ]);
  return {
    "200": { description: "The answer", headers: headers as never, content: toContent(success) },
    ...Object.fromEntries(bad),
  };
}

function toContent(schemas: Record<string, TSchema>) {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema: schema as never }]));
}
