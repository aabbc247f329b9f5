import { describe, expect, test } from "bun:test";
import { openApiSubset, reduceSchema } from "../../../src/lib/json-schema.ts";
import { toBody } from "../../../src/protocols/openai/request.ts";
import { classifyError, classifyRefusal } from "../../../src/protocols/upstream-errors.ts";
import type { Model } from "../../../src/provider/index.ts";

/** A table has none of these, though every object does. */
const names = ["constructor", "valueOf", "toString", "hasOwnProperty", "__proto__"];
const model = { id: "m", upstreamId: "m" } as Model;

describe.each(names)("the word %s", (name) => {
  test("of a provider is no kind of failure", () => {
    const error = { message: "Sorry", code: name, type: name };
    expect(classifyError({ error })).toMatchObject({ kind: "bad_response", message: "Sorry" });
    const refusal = { status: 400, headers: new Headers(), body: JSON.stringify({ error }) };
    expect(classifyRefusal(refusal)).toMatchObject({ kind: "bad_request", code: name });
  });

  test("in a client's schema is a keyword like any other that is not known", () => {
    const schema = JSON.parse(`{"type":"string","minLength":2,"${name}":1}`);
    expect(reduceSchema(schema, openApiSubset).schema).toEqual({ type: "string", minLength: 2 });
  });

  test("as a field of a request is sent by its own name, and its value by its own", () => {
    const request = JSON.parse(`{"temperature":1,"${name}":"name"}`);
    const body = toBody({ request, model, warn: () => undefined }, { rename: { temperature: "t" }, values: {} });
    expect(Object.keys(body).filter((field) => field !== name)).toEqual(["t", "model"]);
    if (name !== "__proto__") expect(body[name]).toBe("name");
  });
});
