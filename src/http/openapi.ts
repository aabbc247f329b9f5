import { type TSchema, Type } from "@sinclair/typebox";

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
  400: "The request is wrong, or the model unknown",
  401: "The API key is missing or not valid, or nobody is signed in",
  403: "Quota, budget or balance used up, or this is not for who asks",
  404: "There is none of this name",
  413: "The body is too large",
  429: "Rate limited; `retry-after` says for how long",
  500: "The provider failed",
  503: "Shutting down, or the books cannot be written",
} as const;

/** How a call can fail. */
const errorsOfCalls = [400, 401, 403, 413, 429, 500, 503] as const;

const headerOf = (description: string, required = false) => ({ description, required, schema: { type: "string" } });
const headers = { "x-request-id": headerOf("The call's id in the books and in the log", true) };
const headersOfLimits = { ...headers, "retry-after": headerOf("Seconds after which a retry can succeed") };

/** A body of bytes, for the OpenAPI document. */
export const Bytes = Type.String({ format: "binary" });

/**
 * The responses of an endpoint, for the OpenAPI document (`detail.responses`). They are described and not validated at run
 * time: what the kernel makes has this shape by its types, and checking it again would cost every call. A test asks for
 * them.
 *
 * @param good The successful response, by its media type.
 */
export function responses(good: Record<string, TSchema>, failures: readonly (keyof typeof errors)[] = errorsOfCalls) {
  const bad = failures.map((status) => [
    status,
    {
      description: errors[status],
      headers: (status === 429 || status === 503 ? headersOfLimits : headers) as never,
      content: contentOf({ "application/json": ErrorAnswer }),
    },
  ]);
  return {
    "200": { description: "The answer", headers: headers as never, content: contentOf(good) },
    ...Object.fromEntries(bad),
  };
}

function contentOf(schemas: Record<string, TSchema>) {
  return Object.fromEntries(Object.entries(schemas).map(([type, schema]) => [type, { schema: schema as never }]));
}
