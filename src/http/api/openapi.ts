import { type TSchema, Type } from "@sinclair/typebox";
import { ChatCompletion } from "../../provider/index.ts";

/** The error body, for the OpenAPI document. */
const ErrorAnswer = Type.Object({
  error: Type.Object({
    message: Type.String(),
    type: Type.String(),
    param: Type.Union([Type.String(), Type.Null()]),
    code: Type.Union([Type.String(), Type.Null()]),
  }),
});

/** The error body of Anthropic's protocol. */
const MessagesErrorAnswer = Type.Object({
  type: Type.Literal("error"),
  error: Type.Object({ type: Type.String(), message: Type.String(), code: Type.String() }),
  request_id: Type.String(),
});

const errors = {
  400: "The request is invalid, or the model is unknown",
  401: "The API key is missing or not valid, or there is no session",
  402: "Quota, budget or balance used up",
  403: "Quota, budget or balance used up, or not permitted",
  404: "Not found",
  405: "Method not allowed; `allow` lists those of the path",
  408: "A large body arrived too slowly",
  409: "An Idempotency-Key of another request, or one whose answer is not there",
  413: "The body is too large",
  415: "The body is compressed",
  429: "Rate limited; `retry-after` says for how long",
  500: "The provider failed",
  503: "Shutting down, overloaded, or the database does not answer",
  504: "The provider did not answer in time",
  529: "Shutting down, overloaded, or the database does not answer",
} as const;

/** How calls can fail. */
const errorsOfCalls = [400, 401, 403, 408, 409, 413, 415, 429, 500, 503] as const;
const errorsOfResponses = [400, 401, 404, 408, 409, 413, 415, 429, 500, 503] as const;
const errorsOfMessages = [400, 401, 402, 403, 404, 405, 408, 409, 413, 415, 429, 500, 504, 529] as const;

const header = (description: string, required = false) => ({ description, required, schema: { type: "string" } });
const headers = { "x-request-id": header("The id of the call in the request log", true) };
const headersOfLimits = { ...headers, "retry-after": header("Seconds after which a retry can succeed") };

/** Responses to any request that its endpoint does not give. */
export const commonResponses = {
  404: { description: errors[404], content: toContent({ "application/json": ErrorAnswer }) },
  405: {
    description: errors[405],
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
export const EventBody = Type.Object({
  event: Type.String(),
  data: Type.String({ contentMediaType: "application/json" }),
});

/** The answer of POST /messages/count_tokens. */
export const InputTokens = Type.Object({ input_tokens: Type.Integer() }, { additionalProperties: true });

/** A compacted conversation, as the provider gives it. */
export const Compaction = Type.Object(
  { id: Type.String(), object: Type.Literal("response.compaction"), output: Type.Array(Type.Unknown()) },
  { additionalProperties: true },
);

/** A body of bytes, for the OpenAPI document. */
export const ByteBody = Type.String({ format: "binary" });

/**
 * The responses of an endpoint, for the OpenAPI document (`detail.responses`). They are not validated at run time, which
 * would cost every call; a test compares them with real responses.
 *
 * @param success The successful response, by its media type.
 */
export function responses(
  success: Record<string, TSchema>,
  failures: readonly (keyof typeof errors)[] = errorsOfCalls,
  failure: TSchema = ErrorAnswer,
) {
  const bad = failures.map((status) => [
    status,
    {
      description: errors[status],
      headers: (status === 429 || status === 503 || status === 529 ? headersOfLimits : headers) as never,
      content: toContent({ "application/json": failure }),
    },
  ]);
  return {
    "200": { description: "The answer", headers: headers as never, content: toContent(success) },
    ...Object.fromEntries(bad),
  };
}

/** The responses of an endpoint of OpenAI's Responses protocol. */
export function responsesOfResponses(success: Record<string, TSchema>) {
  return responses(success, errorsOfResponses);
}

/** The responses of an endpoint of Anthropic's Messages protocol. */
export function responsesOfMessages(success: Record<string, TSchema>) {
  return responses(success, errorsOfMessages, MessagesErrorAnswer);
}

function toContent(schemas: Record<string, TSchema>) {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema: schema as never }]));
}
