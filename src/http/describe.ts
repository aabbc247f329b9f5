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

const errors: Record<string, string> = {
  "400": "The request is wrong, or the model unknown",
  "401": "The API key is missing or not valid",
  "403": "Quota or balance used up, or the key may not use the model",
  "413": "The body is too large",
  "429": "Rate limited; `retry-after` says for how long",
  "500": "The provider failed",
  "503": "Shutting down, or the books cannot be written",
};

/**
 * The answers of an endpoint for the OpenAPI document. They are described and not validated at run time: what the
 * kernel makes is of this shape by its types, and checking it again would cost every call.
 */
export function answers(schema: TSchema | string, mediaType = "application/json") {
  const good = {
    description: "The answer",
    content: {
      [mediaType]: { schema: (typeof schema === "string" ? { type: "string", format: schema } : schema) as never },
    },
  };
  const bad = Object.entries(errors).map(([status, description]) => [
    status,
    { description, content: { "application/json": { schema: ErrorAnswer as never } } },
  ]);
  return { "200": good, ...Object.fromEntries(bad) };
}

/** A JSON body for the OpenAPI document. */
export function jsonBody(schema: TSchema) {
  return { required: true, content: { "application/json": { schema: schema as never } } };
}
