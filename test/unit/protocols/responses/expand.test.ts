import { expect, test } from "bun:test";
import type { GatewayError } from "../../../../src/contract/index.ts";
import { expandRequest, getResponseOfInput, toStoredItems } from "../../../../src/protocols/responses/inbound.ts";
import type { ResponseItem, ResponsesRequest } from "../../../../src/protocols/responses/schema.ts";
import { errorOf } from "../../../support/error-of.ts";
import { isRequest, sent } from "./support.ts";

const user = (content: string): ResponseItem => ({ type: "message", role: "user", content });
const said = { id: "msg_1", type: "message", role: "assistant", content: [{ type: "output_text", text: "Hi" }] };
const call = { id: "fc_1", type: "function_call", call_id: "c1", name: "look", arguments: "{}" };
const result = { type: "function_call_output", call_id: "c1", output: "seen" };
const thought = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "theirs" };
const items = (...list: object[]) => list as ResponseItem[];
const request = (fields: Partial<ResponsesRequest>): ResponsesRequest => ({ model: "m", ...fields });

test("a request that refers to nothing stays as it is, and is not stored by the provider", () => {
  const input = items(user("Ho"), { ...call, id: "fco_own" }, result);
  const given = request({ input, store: true, instructions: "Be kind" });
  const expanded = expandRequest(given, { stored: true });
  expect(expanded).toEqual({ request: { ...given, store: false }, input });
  const text = expandRequest(request({ input: "Ho", previous_response_id: null }), { stored: true });
  expect(text).toEqual({ request: { model: "m", input: "Ho", store: false }, input: [user("Ho")] });
});

test("earlier items come first, without ids that the provider never saw and thoughts that it could not read", () => {
  const earlier = items(user("Hi"), thought, { ...thought, id: "rs_2", encrypted_content: null }, said);
  const given = request({ input: "Ho", previous_response_id: "resp_1" });
  const expanded = expandRequest(given, { stored: true, earlier });
  const { id: _, ...plain } = said;
  expect(sent(expanded.request)).toEqual(
    sent({ model: "m", input: items(user("Hi"), thought, plain, user("Ho")), store: false }),
  );
  expect(expanded.input).toEqual([user("Ho")]);
  expect(isRequest(expanded.request)).toBe(true);
});

test("items stand in the place of references, and are of this turn", () => {
  const given = request({ input: items({ type: "item_reference", id: "fc_1" }, result, { id: "msg_1" }) });
  const referenced = new Map([
    ["fc_1", call as ResponseItem],
    ["msg_1", said as ResponseItem],
  ]);
  const expanded = expandRequest(given, { stored: true, referenced });
  expect(expanded.input).toEqual(items(call, result, said));
  const plain = [call, result, said].map((item) => ({ ...item, id: undefined }));
  expect(sent(expanded.request.input)).toEqual(sent(plain as never));
});

test("thoughts that were sealed here go to no provider", () => {
  const own = { ...thought, encrypted_content: "mg1.abc.def" };
  const expanded = expandRequest(request({ input: items(user("Ho"), own), previous_response_id: "resp_1" }), {
    stored: false,
    earlier: items(own),
  });
  expect(expanded.request.input).toEqual([user("Ho")]);
});

test.each([
  [{ input: "Ho", previous_response_id: "resp_1" }, "previous_response_not_found", "previous_response_id"],
  [{ input: items(user("Ho"), { type: "item_reference", id: "msg_9" }) }, "item_not_found", "input[1].id"],
])("what is not there is refused: %j", async (fields, code, param) => {
  const error = await errorOf<GatewayError>((async () => expandRequest(request(fields), { stored: true }))());
  expect([error.status, error.publicCode, error.param]).toEqual([400, code, param]);
});

test("an item that is referred to twice is refused, so that a short request does not become a long one", async () => {
  const reference = { type: "item_reference", id: "msg_1" };
  const referenced = new Map([["msg_1", said as ResponseItem]]);
  const given = request({ input: items(reference, user("Ho"), reference) });
  const error = await errorOf<GatewayError>((async () => expandRequest(given, { stored: true, referenced }))());
  expect([error.status, error.param]).toEqual([400, "input[2].id"]);
  expect(error.message).toContain('Duplicate item found with id "msg_1"');
});

test("the id of an input item tells its response, and no other id does", () => {
  const [stored] = toStoredItems([user("Hi")], "resp_01abc");
  expect(getResponseOfInput(stored?.id as string)).toBe("resp_01abc");
  for (const id of ["msg_01abc_0", "msg_in0", "_in0", "resp_1", "", `msg_${"a".repeat(101)}_in0`]) {
    expect(getResponseOfInput(id)).toBeUndefined();
  }
});
