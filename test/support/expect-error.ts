import { expect } from "bun:test";
import { faultsOf, schemaMissing } from "./openai-schema.ts";

export interface WireError {
  message: string;
  type: string;
  param: string | null;
  code: string | null;
}

/** What an error answer must be; `says` must stand in its message. */
export interface PromisedError {
  status: number;
  param?: string | null;
  code?: string;
  says?: string;
}

/** Holds an answer against the promise, the OpenAI error shape, and our grammar of messages. Returns the error. */
export async function expectError(response: Response, promised: PromisedError): Promise<WireError> {
  const text = await response.text();
  expect(`${response.status} ${text}`).toStartWith(String(promised.status));
  const body = JSON.parse(text) as { error: WireError };
  if (schemaMissing === undefined) expect(faultsOf("ErrorResponse", body)).toEqual([]);
  const { error } = body;
  expect(Object.keys(error).sort()).toEqual(["code", "message", "param", "type"]);
  if (promised.param !== undefined) expect({ param: error.param, text }).toEqual({ param: promised.param, text });
  if (promised.code !== undefined) expect(error.code).toBe(promised.code);
  if (promised.says !== undefined) expect(error.message).toContain(promised.says);
  expect(error.message).toMatch(/^[A-Za-z'`"/].*[^.\s]$/s);
  expect(response.headers.get("x-request-id")).toBeTruthy();
  return error;
}
