import { describe, expect, test } from "bun:test";
import { GatewayError } from "../../../../src/contract/index.ts";
import { createReasoningSeal, removeOwnThoughts } from "../../../../src/protocols/responses/reasoning-seal.ts";

const key = new Uint8Array(32).fill(7);
const seal = createReasoningSeal(key, "acc_1", "model.1");
const thoughts = { details: [{ type: "reasoning.text", text: "Grüße", signature: "sig==" }] };
const sealed = seal.seal(thoughts);
const param = "input[0].encrypted_content";

function refusalOf(text: string, by = seal): unknown {
  try {
    return by.open(text, param);
  } catch (error) {
    return error;
  }
}

describe("sealed thoughts", () => {
  test("are opened again by the same account and model, and cannot be read", () => {
    expect(seal.open(sealed, param)).toEqual(thoughts);
    expect(Buffer.from(sealed.split(".")[2] as string, "base64url").includes("sig==")).toBe(false);
    expect(seal.seal(thoughts)).not.toBe(sealed);
  });

  test("of another model or provider are left out", () => {
    expect(createReasoningSeal(key, "acc_1", "model-2").open(sealed, param)).toBeUndefined();
    for (const text of ["gAAAAABo", "", "mg1", "mg1.x", "mg2.a.b", `${sealed}.x`, "a.b.c.d.e"]) {
      expect(seal.open(text, param)).toBeUndefined();
    }
  });

  const [start, model, bytes] = sealed.split(".") as [string, string, string];
  const changed = Buffer.from(bytes, "base64url");
  changed[20] = (changed[20] as number) ^ 1;

  test.each([
    ["one bit was changed", `${start}.${model}.${changed.toString("base64url")}`, seal],
    ["it is cut", `${start}.${model}.${bytes.slice(0, -4)}`, seal],
    ["it is empty", `${start}.${model}.`, seal],
    ["it belongs to another account", sealed, createReasoningSeal(key, "acc_2", "model.1")],
    ["it was made with another key", sealed, createReasoningSeal(new Uint8Array(32), "acc_1", "model.1")],
    // The owner is one JSON text: moving a character from the account to the model is another owner.
    ["the owners run together", sealed, createReasoningSeal(key, 'acc_1","model', "model.1")],
  ])("are refused when %s", (_, text, by) => {
    const error = refusalOf(text, by) as GatewayError;
    expect(error).toBeInstanceOf(GatewayError);
    expect([error.status, error.publicCode, error.param]).toEqual([400, "invalid_encrypted_content", param]);
  });
});

test("thoughts that were sealed here do not reach another provider", () => {
  const foreign = { type: "reasoning" as const, id: "rs_1", summary: [], encrypted_content: "gAAAAABo" };
  const own = { ...foreign, encrypted_content: sealed };
  const message = { role: "user" as const, content: "Hi" };
  expect(removeOwnThoughts({ model: "m", input: [own, foreign, message] }).input).toEqual([foreign, message]);
  const other = { model: "m", input: [foreign, message] };
  expect(removeOwnThoughts(other)).toBe(other);
});
