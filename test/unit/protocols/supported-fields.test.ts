import { expect, test } from "bun:test";
import { pickSupportedFields } from "../../../src/protocols/supported-fields.ts";
import type { ChatRequest } from "../../../src/provider/index.ts";
import { plainModel } from "../sdk/fake-call.ts";

const keep = (request: Partial<ChatRequest> & Record<string, unknown>, omit?: string[]) => {
  const notes: string[] = [];
  const model = omit === undefined ? plainModel : { ...plainModel, omit };
  const kept = pickSupportedFields({ model: "m", messages: [], ...request }, ["seed", "stop"], model, (warn) =>
    notes.push(warn),
  );
  return { kept, notes };
};

test("keeps what has a counterpart and what every translation handles, and takes null for absent", () => {
  const { kept, notes } = keep({ seed: 1, stream: true, stop: null, verbosity: null });
  expect(kept).toEqual({ model: "m", messages: [], seed: 1, stream: true });
  expect(notes).toEqual([]);
});

test("leaves out and notes what has none, and what the row omits", () => {
  const { kept, notes } = keep({ seed: 1, stop: "x", verbosity: "low", user: "me" }, ["seed"]);
  expect(kept).toEqual({ model: "m", messages: [], stop: "x" });
  expect(notes).toEqual(["Left out, because the model does not take it: seed, verbosity, user"]);
});
