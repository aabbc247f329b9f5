import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { ChatRequest, Model } from "modelgate/plugin";
import { GatewayError } from "../../../../src/contract/index.ts";
import { modelOf, translated } from "./support.ts";

/** A request and what must come of it: fields of the body (`null`: absent) and notes, or the `param` it is refused with. */
interface Case {
  name: string;
  model?: string;
  /** Fields of the model's row that are other than in the catalogue. */
  row?: Partial<Model>;
  request: Partial<ChatRequest>;
  body?: Record<string, unknown>;
  notes?: string[];
  reading?: object;
  param?: string;
  message?: string;
}

const folder = join(import.meta.dir, "../../../fixtures/anthropic/requests");

describe.each(readdirSync(folder))("%s", (file) => {
  const cases = JSON.parse(readFileSync(join(folder, file), "utf8")) as Case[];
  test.each(cases.map((golden) => [golden.name, golden] as const))("%s", (_, golden) => {
    const model = { ...modelOf(golden.model ?? "famC-haiku-4-5"), ...golden.row };
    const request = { messages: [{ role: "user" as const, content: "Hi" }], ...golden.request };
    if (golden.param !== undefined) {
      expect(refusalOf(() => translated(request, model))).toMatchObject({
        code: "invalid_request",
        param: golden.param,
        message: expect.stringContaining(golden.message ?? ""),
      });
      return;
    }
    const before = structuredClone(request);
    const { body, notes, reading } = translated(request, model);
    expect(request).toEqual(before);
    for (const [field, value] of Object.entries(golden.body ?? {}))
      expect<unknown>([field, body[field] ?? null]).toEqual([field, value]);
    if (golden.notes !== undefined) expect(notes).toEqual(golden.notes);
    if (golden.reading !== undefined) expect(reading).toEqual(golden.reading as never);
  });
});

function refusalOf(run: () => unknown): GatewayError {
  try {
    run();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  }
  throw new Error("Expected a refusal");
}
