import { describe, expect, test } from "bun:test";
import { responsesTurns } from "../../../../src/protocols/responses/socket-turns.ts";

const user = (content: unknown) => ({ type: "message", role: "user", content });
const said = { type: "message", id: "msg_1", role: "assistant", content: [{ type: "output_text", text: "Ho" }] };
const completed = (output: object[], id: unknown = "resp_1") => ({
  type: "response.completed",
  response: { id, output },
});
const turnOf = (input: unknown, output: object[] = [said]) =>
  responsesTurns.toTurn({ model: "m", input }, completed(output), output.length);
const frameOf = (input: unknown, before = turnOf("Hi"), model = "m") =>
  responsesTurns.toFrame({ model, input, stream: true, store: false }, before);

describe("a frame", () => {
  test("asks for the whole of a first turn, without what a POST alone has", () => {
    const { frame, continues } = responsesTurns.toFrame(
      { model: "m", input: "Hi", stream: true, tools: [] },
      undefined,
    );
    expect(frame).toEqual({ type: "response.create", model: "m", input: "Hi", tools: [] });
    expect(continues).toBe(false);
  });

  const { id: _, ...plain } = said;
  test.each<[string, object[], object[]]>([
    ["an item", [user("Hi"), said, user("Go on")], [user("Go on")]],
    ["two items", [user("Hi"), said, user("Go"), user("on")], [user("Go"), user("on")]],
    ["an item behind one without its id", [user("Hi"), plain, user("Go on")], [user("Go on")]],
    [
      "an item behind one with a status",
      [{ ...user("Hi"), status: "completed" }, said, user("Go on")],
      [user("Go on")],
    ],
    [
      "an item behind a text in a part",
      [user([{ type: "input_text", text: "Hi" }]), said, user("Go on")],
      [user("Go on")],
    ],
  ])("has only what is new: %s", (_name, input, rest) => {
    expect(frameOf(input)).toEqual({
      frame: { type: "response.create", model: "m", store: false, previous_response_id: "resp_1", input: rest },
      continues: true,
    });
  });

  test.each<[string, unknown]>([
    ["nothing is new", [user("Hi"), said]],
    ["it is shorter", [user("Hi")]],
    ["an item says something else", [user("Hello"), said, user("Go on")]],
    ["an item has another part", [user([{ type: "input_image", text: "Hi" }]), said, user("Go on")]],
    ["an item has one member more", [user("Hi"), { ...said, phase: "final" }, user("Go on")]],
    ["an item lacks a member", [user("Hi"), { ...said, content: undefined }, user("Go on")]],
    ["an item came between", [user("Hi"), user("Oh"), said, user("Go on")]],
    ["it is a text", "Hi"],
    ["there is none", undefined],
  ])("has the whole conversation where %s", (_name, input) => {
    const { frame, continues } = frameOf(input);
    expect(frame).toEqual({ type: "response.create", model: "m", store: false, input });
    expect(continues).toBe(false);
  });

  test("has the whole conversation for another model", () => {
    expect(frameOf([user("Hi"), said, user("Go on")], turnOf("Hi"), "n").continues).toBe(false);
  });

  test("does not have reasoning that only the provider remembers", () => {
    const kept = { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "x" };
    const before = turnOf("Hi", [{ type: "reasoning", id: "rs_1", summary: [] }, kept, said]);
    expect(frameOf([user("Hi"), kept, said, user("Go on")], before).frame.input).toEqual([user("Go on")]);
  });
});

test.each<[string, object, number]>([
  ["was cut", { type: "response.incomplete", response: { id: "resp_1", output: [said] } }, 1],
  ["failed", { type: "response.failed", response: { id: "resp_1", output: [said] } }, 1],
  ["has no id", completed([said], null), 1],
  ["does not list what was streamed", completed([]), 1],
  ["has no response", { type: "response.completed" }, 0],
])("a turn that %s is not continued", (_name, last, items) => {
  expect(responsesTurns.toTurn({ model: "m", input: "Hi" }, { ...last }, items)).toBeUndefined();
});

describe("a message", () => {
  const kindOf = (message: unknown) =>
    responsesTurns.read(typeof message === "string" ? message : JSON.stringify(message)).kind;
  test("is told by its type alone", () => {
    expect(kindOf({ type: "response.output_text.delta", delta: '"type":"response.completed"' })).toBe("piece");
    expect(kindOf({ type: "x", item: { type: "error" } })).toBe("piece");
    expect(kindOf('{"type":"error"')).toBe("piece");
    expect(kindOf({ type: "response.output_item.done", item: said })).toBe("item");
    expect(kindOf({ response: {}, type: "response.completed" })).toBe("last");
    expect(kindOf({ type: "error", error: {} })).toBe("last");
    expect(kindOf({ type: "error", status: 200 })).toBe("last");
  });

  test("refuses a turn by a status, with its reason and the headers that can be some", () => {
    const read = (code: unknown, headers?: unknown) =>
      responsesTurns.read(JSON.stringify({ type: "error", status: 429, error: { code }, headers }));
    expect(read("rate_limit_exceeded", { "retry-after": 3, "x y": "z", other: "a\nb" })).toEqual({
      kind: "refusal",
      status: 429,
      headers: { "retry-after": "3" },
      reason: undefined,
    });
    expect(read("previous_response_not_found")).toMatchObject({ reason: "forgotten" });
    expect(read("websocket_connection_limit_reached", [])).toMatchObject({ reason: "ended", headers: {} });
    expect(read("toString")).toMatchObject({ reason: undefined });
  });
});
