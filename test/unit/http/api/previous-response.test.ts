import { describe, expect, test } from "bun:test";
import type { ChatCompletion } from "../../../../src/provider/index.ts";
import { expectError } from "../../../support/expect-error.ts";
import { parseEvents } from "../../../support/sse.ts";
import { completionOf } from "../../kernel/streams.ts";
import { asked, gatewayOf, minuteMs, result, store, toolCall, tools, useStore } from "./stored-fixture.ts";

useStore();

describe("previous_response_id", () => {
  test("goes on with all turns before, and with no instructions but its own", async () => {
    const { create, lastAsk } = gatewayOf();
    const first = await create({ ...asked, instructions: "Be kind" });
    const second = await create({ model: "chat-1", input: "Again", previous_response_id: first.id });
    expect(second).toMatchObject({ previous_response_id: first.id, store: true });
    const input = [{ role: "user", content: "And again" }];
    await create({ model: "chat-1", input, instructions: "Be brief", previous_response_id: second.id });
    expect(lastAsk()).toEqual([
      ["system", "Be brief"],
      ["user", "Say hello"],
      ["assistant", "Hello"],
      ["user", "Again"],
      ["assistant", "Hello"],
      ["user", "And again"],
    ]);
  });

  test("can be gone on from twice, each without the other", async () => {
    const { create, lastAsk } = gatewayOf();
    const first = await create();
    for (const input of ["Left", "Right"]) {
      await create({ model: "chat-1", input, previous_response_id: first.id });
      expect(lastAsk()?.slice(1)).toEqual([
        ["assistant", "Hello"],
        ["user", input],
      ]);
    }
  });

  test("takes the result of a tool that the response called", async () => {
    const answers = [toolCall(), completionOf("It is three")];
    const { create, lastAsk } = gatewayOf({}, () => answers.shift() as ChatCompletion);
    const first = await create({ ...asked, tools });
    await create({ model: "chat-1", input: [result], tools, previous_response_id: first.id });
    expect(lastAsk()?.map(([role]) => role)).toEqual(["user", "assistant", "tool"]);
  });

  test("is counted by input_tokens too", async () => {
    const { create, post, ask } = gatewayOf();
    const { id } = await create();
    const headers = { authorization: "Bearer ada", "content-type": "application/json" };
    const count = async (body: object) => {
      const init = { method: "POST", headers, body: JSON.stringify(body) };
      return (await (await ask("responses/input_tokens", init)).json()).input_tokens as number;
    };
    expect(await count({ ...asked, previous_response_id: id })).toBeGreaterThan(await count(asked));
    await expectError(await post({ ...asked, previous_response_id: "resp_1" }), { status: 400 });
  });

  test("lives on with each use, and breaks when a response before it is deleted", async () => {
    const { create, post, send, clock } = gatewayOf();
    const first = await create();
    let last = first;
    for (let turn = 0; turn < 3; turn++) {
      clock.nowMs += 50 * minuteMs;
      last = await create({ ...asked, previous_response_id: last.id });
    }
    expect((await send(`responses/${first.id}`)).status).toBe(200);
    await send(`responses/${first.id}`, "DELETE");
    const response = await post({ ...asked, previous_response_id: last.id });
    await expectError(response, { status: 400, code: "previous_response_not_found", says: last.id });
  });

  test("is refused once more bytes are before it than a request may have", async () => {
    const { create, post } = gatewayOf();
    const { id } = await create();
    await store.db.updateTable("stored_responses").set({ bytes: 9_000_000 }).execute();
    const response = await post({ ...asked, previous_response_id: id });
    await expectError(response, { status: 400, code: "invalid_request", says: "bytes, more than 8388608" });
  });
});

describe("item_reference", () => {
  test("stands for an item of an answer, as the AI SDK sends it", async () => {
    const answers = [toolCall(), completionOf("It is three"), completionOf("Yes")];
    const { create, lastAsk } = gatewayOf({}, () => answers.shift() as ChatCompletion);
    const user = { role: "user", content: "Add" };
    const first = await create({ model: "chat-1", tools, input: [user] });
    const call = { type: "item_reference", id: first.output[0]?.id };
    const second = await create({ model: "chat-1", tools, input: [user, call, result] });
    expect(lastAsk()?.map(([role]) => role)).toEqual(["user", "assistant", "tool"]);
    const said = { id: second.output[0]?.id };
    await create({ model: "chat-1", tools, input: [user, call, result, said, { role: "user", content: "Sure?" }] });
    expect(lastAsk()?.slice(3)).toEqual([
      ["assistant", "It is three"],
      ["user", "Sure?"],
    ]);
  });

  test("stands for an item of an input by its listed id", async () => {
    const { create, send, lastAsk } = gatewayOf();
    const { id } = await create();
    const { data } = await (await send(`responses/${id}/input_items`)).json();
    await create({ model: "chat-1", input: [{ type: "item_reference", id: data[0].id }] });
    expect(lastAsk()).toEqual([["user", "Say hello"]]);
  });

  test.each(["msg_unknown", "msg_unknown_in0", "resp_"])("to %s is refused by its id", async (start) => {
    const { create, post } = gatewayOf();
    const { id } = await create();
    const reference = { type: "item_reference", id: start === "resp_" ? id : start };
    const promised = { status: 400, code: "item_not_found", param: "input[0].id", says: reference.id };
    await expectError(await post({ model: "chat-1", input: [reference] }), promised);
  });

  test("is bounded in number", async () => {
    const input = [...Array(1001).keys()].map((number) => ({ type: "item_reference", id: `msg_${number}` }));
    await expectError(await gatewayOf().post({ model: "chat-1", input }), { status: 400, says: "1001 references" });
  });
});

test("a streamed response can be gone on from as soon as its last event is there", async () => {
  const { post, create, lastAsk } = gatewayOf();
  const body = (await post({ ...asked, stream: true })).body as ReadableStream<Uint8Array>;
  let text = "";
  for await (const piece of body) {
    text += Buffer.from(piece);
    if (!text.includes("event: response.completed")) continue;
    const last = parseEvents(text).events.at(-1) as { response: { id: string; store: boolean } };
    expect(last.response.store).toBe(true);
    await create({ ...asked, previous_response_id: last.response.id });
    expect(lastAsk()?.length).toBe(3);
  }
  expect(lastAsk()?.length).toBe(3);
});
