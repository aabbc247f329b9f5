import { describe, expect, test } from "bun:test";
import type { MessagesBlock, MessagesEvent } from "../../../../src/protocols/messages/schema.ts";
import type { Call, ChatRequest } from "../../../../src/provider/index.ts";
import { openai } from "../../../../src/sdk/openai.ts";
import { parseEvents } from "../../../support/sse.ts";
import { chatModel, createPlugin } from "../../kernel/support.ts";
import { accumulate } from "../../protocols/messages/support.ts";
import { eventsOf } from "../../sdk/fake-call.ts";
import { httpOf } from "../support.ts";

const text = (words: string) => ({ type: "summary_text", text: words });
const thoughts = [
  { type: "reasoning", id: "rs_1", summary: [text("Look"), text("outside")], encrypted_content: "gAAA+/=é\u2028" },
  { type: "reasoning", id: "rs_2", summary: [], encrypted_content: "gBBB" },
];
const call = { type: "function_call", id: "fc_1", call_id: "call_Qm4vT9xZ", name: "look", arguments: "{}" };
const response = { id: "resp_1", object: "response", status: "completed", output: [...thoughts, call], usage: null };
const events = [
  { type: "response.reasoning_summary_part.added", output_index: 0 },
  { type: "response.reasoning_summary_text.delta", output_index: 0, delta: "Look outside" },
  { type: "response.output_item.done", output_index: 0, item: thoughts[0] },
  { type: "response.output_item.added", output_index: 1, item: { ...call, arguments: "" } },
  { type: "response.function_call_arguments.delta", output_index: 1, delta: "{}" },
  { type: "response.output_item.done", output_index: 1, item: call },
  // A thought behind a call.
  { type: "response.output_item.done", output_index: 2, item: thoughts[1] },
  { type: "response.completed", response },
];
const wire = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");

/** A gateway with two models that only /responses serves, and the bodies that their provider got. */
function gateway() {
  const bodies: Record<string, unknown>[] = [];
  const { chat, ...handlers } = openai({ chat: { functions: "pass" }, responses: {} });
  const ask = (given: Call<ChatRequest>) => {
    const json = async (_: string, body: unknown) => {
      bodies.push(body as Record<string, unknown>);
      return response;
    };
    const stream = async (_: string, body: unknown) => {
      bodies.push(body as Record<string, unknown>);
      return eventsOf(wire);
    };
    const upstream = Object.assign(Object.create(given.upstream), { json, events: stream });
    return (chat as NonNullable<typeof chat>)({ ...given, upstream });
  };
  const row = { ...chatModel, endpoint: "responses", reasoning: true } as const;
  const models = [row, { ...row, id: "chat-2", aliases: ["other"] }];
  return { bodies, ...httpOf([createPlugin({ ...handlers, chat: ask }, { models })]) };
}

const tools = [{ name: "look", input_schema: { type: "object" } }];
const first = { role: "user", content: "Rain?" };
const asked = { model: "chat-1", max_tokens: 500, thinking: { type: "adaptive" }, tools, messages: [first] };

function secondTurn(content: readonly MessagesBlock[], changes: object = {}) {
  const result = { type: "tool_result", tool_use_id: "call_Qm4vT9xZ", content: "dry" };
  const messages = [first, { role: "assistant", content }, { role: "user", content: [result] }];
  return { ...asked, messages, ...changes };
}

async function firstTurn({ post }: ReturnType<typeof gateway>, way: string, thinking: object = asked.thinking) {
  const answer = await post("messages", { ...asked, thinking, stream: way === "streamed" });
  expect(answer.status).toBe(200);
  const body = await answer.text();
  return way === "streamed"
    ? accumulate(parseEvents(body).events as unknown as MessagesEvent[]).content
    : (JSON.parse(body).content as MessagesBlock[]);
}

const items = (body: Record<string, unknown> = {}) =>
  (body.input as { type?: string }[]).filter(({ type }) => type === "reasoning");
const sent = thoughts.map(({ type, id, encrypted_content }) => ({ type, id, summary: [], encrypted_content }));

describe.each(["whole", "streamed"])("thoughts that a provider sealed, in a %s message", (way) => {
  test.each([{ type: "adaptive" }, { type: "adaptive", display: "omitted" }])(
    "come back to it byte for byte with %j",
    async (thinking) => {
      const one = gateway();
      const content = await firstTurn(one, way, thinking);
      const shown = content.flatMap((block) => (block.type === "thinking" ? block.thinking : []));
      const isShown = !("display" in thinking);
      expect(shown.join("")).toBe(isShown ? (way === "whole" ? "Look\n\noutside" : "Look outside") : "");
      expect((await one.post("messages", secondTurn(content))).status).toBe(200);
      expect(items(one.bodies[1])).toEqual(sent);
    },
  );

  test("are not made a block for a client that asked for none", async () => {
    const one = gateway();
    const content = await firstTurn(one, way, { type: "disabled" });
    expect(content.map(({ type }) => type)).toEqual(["tool_use"]);
  });

  test("are refused when they were changed, and left out for another model and without our signature", async () => {
    const one = gateway();
    const content = await firstTurn(one, way);
    const [thought, ...others] = content as [MessagesBlock, ...MessagesBlock[]];
    const sealed = String(thought.signature);
    const forged = Buffer.from(sealed.slice(4), "base64url");
    forged[forged.length - 20] = (forged.at(-20) as number) ^ 1;
    for (const signature of [sealed.slice(0, -8), `mg1.${forged.toString("base64url")}`]) {
      const refused = await one.post("messages", secondTurn([{ ...thought, signature }, ...others]));
      expect([refused.status, (await refused.json()).error.message]).toEqual([
        400,
        "messages.1.content.0: Invalid `signature` in `thinking` block",
      ]);
    }
    const elsewhere = await one.post("messages", secondTurn(content, { model: "other" }));
    expect([elsewhere.status, items(one.bodies[1])]).toEqual([200, []]);
    const foreign = others.filter(({ type }) => type !== "thinking");
    expect(
      (await one.post("messages", secondTurn([{ ...thought, signature: "EqQBCkYIARgC" }, ...foreign]))).status,
    ).toBe(200);
    expect(items(one.bodies[2])).toEqual([]);
  });
});
