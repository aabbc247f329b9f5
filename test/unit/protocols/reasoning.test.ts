import { describe, expect, test } from "bun:test";
import fc from "fast-check";
import { GatewayError } from "../../../src/contract/index.ts";
import { createReasoningEnvelope, isOwnEnvelope } from "../../../src/protocols/reasoning.ts";
import { removeOwnThoughts } from "../../../src/protocols/responses/inbound.ts";
import { translate } from "./responses/support.ts";

const key = new Uint8Array(32).fill(7);
const envelope = createReasoningEnvelope(key, "acc_1");
const reasoning = { model: "model.1", details: [{ type: "reasoning.text", text: "Grüße", signature: "sig==" }] };
const sealed = envelope.seal(reasoning);
const bytes = Buffer.from(sealed.slice(4), "base64url");

describe("an envelope of reasoning", () => {
  test("is opened again by the same account, and cannot be read", () => {
    expect(envelope.open(sealed)).toEqual({ origin: "own", reasoning });
    expect(bytes.includes("sig==")).toBe(false);
    expect(envelope.seal(reasoning)).not.toBe(sealed);
  });

  test("comes back with any text that is shown beside it", () => {
    const property = fc.property(fc.string({ unit: "binary" }), (text) => {
      expect(envelope.open(envelope.seal({ model: "m" }, text), text)).toEqual({
        origin: "own",
        reasoning: { model: "m" },
      });
      const hidden = envelope.open(envelope.seal({ model: "m", text: text.toWellFormed() }));
      expect(hidden).toEqual({ origin: "own", reasoning: { model: "m", text: text.toWellFormed() } });
    });
    fc.assert(property, { numRuns: 300, seed: 5 });
  });

  test("is told from what a provider sealed", () => {
    for (const text of ["gAAAAABo", "", "mg1", "mg2.a.b", "EqQBmg1.", "a.b.c.d.e"]) {
      expect([envelope.open(text).origin, isOwnEnvelope(text)]).toEqual(["provider", false]);
    }
  });

  const changed = Buffer.from(bytes);
  changed[20] = (changed[20] as number) ^ 1;
  const altered = [
    ["one bit was changed", `mg1.${changed.toString("base64url")}`, ""],
    ["it is cut", sealed.slice(0, -4), ""],
    ["nothing is left of it but the id of its key", `mg1.${bytes.subarray(0, 4).toString("base64url")}`, ""],
    ["it comes with a text that was not shown", sealed, "Hm"],
    ["the text that was shown is missing", envelope.seal(reasoning, "Hm"), ""],
  ] as const;
  test.each(altered)("is altered when %s", (_, text, shown) => {
    expect(envelope.open(text, shown)).toEqual({ origin: "altered" });
  });

  const foreign = [
    ["of another account", sealed, createReasoningEnvelope(key, "acc_2")],
    ["of another key", sealed, createReasoningEnvelope(new Uint8Array(32), "acc_1")],
    ["that is empty", "mg1.", envelope],
    ["that is too short for the id of a key", "mg1.x", envelope],
  ] as const;
  test.each(foreign)("%s is foreign", (_, text, by) => {
    expect(by.open(text)).toEqual({ origin: "foreign" });
  });

  const input = (text: string) => [
    { type: "message", role: "user", content: "Hi" },
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: text },
    { type: "message", role: "assistant", content: "Hello" },
  ];

  test.each([...altered.slice(0, 3).map(([, text]) => text), "mg1."])(
    "is refused by Responses where it cannot be verified: %#",
    (text) => {
      let error: unknown;
      try {
        translate({ model: "model.1", input: input(text) }, { envelope, model: "model.1" });
      } catch (thrown) {
        error = thrown;
      }
      expect(error).toBeInstanceOf(GatewayError);
      expect(error).toMatchObject({
        status: 400,
        publicCode: "invalid_encrypted_content",
        param: "input[1].encrypted_content",
      });
    },
  );

  test.each([
    ["its own model", "model.1", { reasoning_details: reasoning.details }],
    ["another model", "model-2", {}],
  ])("goes through Responses to %s", (_, model, fields) => {
    const { chat } = translate({ model, input: input(sealed) }, { envelope, model });
    expect(chat.messages[1] as unknown).toEqual({ role: "assistant", content: "Hello", ...fields });
  });

  test("does not reach another provider", () => {
    const theirs = { type: "reasoning" as const, id: "rs_1", summary: [], encrypted_content: "gAAAAABo" };
    const own = { ...theirs, encrypted_content: sealed };
    const message = { role: "user" as const, content: "Hi" };
    expect(removeOwnThoughts({ model: "m", input: [own, theirs, message] }).input).toEqual([theirs, message]);
    const other = { model: "m", input: [theirs, message] };
    expect(removeOwnThoughts(other)).toBe(other);
  });
});
