import { describe, expect, test } from "bun:test";
import type { MessagesEvent } from "../../../src/protocols/messages/schema.ts";
import type { ResponseObject } from "../../../src/protocols/responses/schema.ts";
import { isEnded, type Model } from "../../../src/provider/index.ts";
import { readMessage, readMessageEvent } from "../../support/anthropic-schema.ts";
import { isLong } from "../../support/long.ts";
import { faultsOf, type SchemaName, schemaMissing } from "../../support/openai-schema.ts";
import { saidBy, saidByChunks, type WireChunk, type WireCompletion } from "../../support/said.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { simulated } from "../../support/simulated.ts";
import { parseEvents } from "../../support/sse.ts";
import { accumulate } from "../../unit/protocols/messages/support.ts";

if (schemaMissing !== undefined) console.log(`Skipped: all but Anthropic's protocol: ${schemaMissing}`);

const shared = useSandboxGateway();
const rows = simulated.flatMap((plugin) => plugin.models).filter((row) => row.capability === "chat");
const served = new Map(rows.filter((row) => !isEnded(row, Date.now())).map((row) => [row.id, row]));
/** What the sandbox decides by; models that are alike in it answer alike. */
const kindOf = ({ ownedBy, features, reasoning, endpoint, premium, omit, rename, options }: Model) =>
  JSON.stringify([ownedBy, features, reasoning, endpoint, premium, omit, rename, Object.keys(options ?? {})]);
/** The short form asks one model of each kind. */
const kinds = new Map([...served].reverse().map((entry) => [kindOf(entry[1]), entry]));
const models = isLong ? [...served] : [...kinds.values()];
if (!isLong) console.log(`${models.length} of ${served.size} models are asked, one of each kind; all are for LONG=1`);

type Json = Record<string, unknown>;

const say = "Say hello to Ada";
const use = "Use look";
const parameters = { type: "object", properties: { at: { type: "string" } }, required: ["at"] };
const schema = { type: "object", properties: { city: { type: "string" } }, required: ["city"] };
const called = { id: "call_1", name: "look" };

/** The same question in each protocol. */
interface Question {
  /** What the whole answer must have in it. */
  shows: Record<Protocol, string>;
  chat: Json;
  responses: Json;
  messages: Json;
}
type Protocol = "chat" | "responses" | "messages";

const inAll = (text: string) => ({ chat: text, responses: text, messages: text });
const history = { role: "user", content: use };
const chatTools = [{ type: "function", function: { name: called.name, parameters } }];
const flatTools = [{ type: "function", name: called.name, parameters, strict: false }];
const blockTools = [{ name: called.name, input_schema: parameters }];

const plain: Question = {
  shows: inAll("Ada"),
  chat: { messages: [{ role: "user", content: say }] },
  responses: { input: say, instructions: "Be brief" },
  messages: { messages: [{ role: "user", content: say }], system: "Be brief" },
};
const thinking: Question = {
  shows: { chat: '"reasoning_content":"[sandbox]', responses: '"encrypted_content":"', messages: '"signature":"' },
  chat: { ...plain.chat, reasoning_effort: "low" },
  responses: {
    ...plain.responses,
    reasoning: { effort: "low", summary: "auto" },
    include: ["reasoning.encrypted_content"],
  },
  messages: { ...plain.messages, thinking: { type: "adaptive" } },
};
const call: Question = {
  shows: inAll('"name":"look"'),
  chat: { messages: [history], tools: chatTools },
  responses: { input: use, tools: flatTools },
  messages: { messages: [history], tools: blockTools },
};
const thoughtfulCall: Question = {
  shows: thinking.shows,
  chat: { ...thinking.chat, ...call.chat },
  responses: { ...thinking.responses, ...call.responses },
  messages: { ...thinking.messages, ...call.messages },
};
const chatCall = { id: called.id, type: "function", function: { name: called.name, arguments: "{}" } };
const result: Question = {
  shows: inAll("the tool's answer done"),
  chat: {
    tools: chatTools,
    messages: [
      history,
      { role: "assistant", content: null, tool_calls: [chatCall] },
      { role: "tool", tool_call_id: called.id, content: "done" },
    ],
  },
  responses: {
    tools: flatTools,
    input: [
      history,
      { type: "function_call", call_id: called.id, name: called.name, arguments: "{}" },
      { type: "function_call_output", call_id: called.id, output: "done" },
    ],
  },
  messages: {
    tools: blockTools,
    messages: [
      history,
      { role: "assistant", content: [{ type: "tool_use", ...called, input: {} }] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: called.id, content: "done" }] },
    ],
  },
};
const bySchema: Question = {
  shows: inAll("city"),
  chat: { ...plain.chat, response_format: { type: "json_schema", json_schema: { name: "place", schema } } },
  responses: { ...plain.responses, text: { format: { type: "json_schema", name: "place", schema } } },
  messages: { ...plain.messages, output_config: { format: { type: "json_schema", schema } } },
};

/** What is asked of a model, by what it can do. */
function questionsTo({ features, reasoning }: Model): Question[] {
  const [calls, fits] = (["tools", "json_schema"] as const).map((feature) => features?.includes(feature) ?? true);
  const thinks = reasoning === true;
  return [
    plain,
    ...(thinks ? [thinking] : []),
    ...(calls ? [call, result] : []),
    ...(thinks && calls ? [thoughtfulCall] : []),
    ...(fits ? [bySchema] : []),
  ];
}

const paths: Record<Protocol, string> = { chat: "/chat/completions", responses: "/responses", messages: "/messages" };

/** The answer to a question, whole, and the text of its stream. */
async function ask(model: string, protocol: Protocol, question: Question): Promise<{ whole: Json; text: string }> {
  const body = { model, ...question[protocol], ...(protocol === "messages" && { max_tokens: 1000 }) };
  const answers = [{}, { stream: true }].map(async (fields) => {
    const response = await shared.gateway.post(paths[protocol], { ...body, ...fields });
    return [response.status, await response.text()] as const;
  });
  const [[status, whole], [begun, text]] = (await Promise.all(answers)) as [[number, string], [number, string]];
  expect([status, begun, status === begun ? "" : whole + text, body]).toEqual([200, 200, "", body]);
  expect(whole).toContain(question.shows[protocol]);
  return { whole: JSON.parse(whole), text };
}

function expectValid(name: SchemaName, body: unknown): void {
  const faults = faultsOf(name, body);
  expect(faults.length === 0 ? "" : `${faults.join("\n")}\n${JSON.stringify(body)}`).toBe("");
}

describe.skipIf(schemaMissing !== undefined)("as OpenAI describes it, whole and streamed, the same both ways", () => {
  test.each(models)("%s answers by chat", async (model, row) => {
    for (const question of questionsTo(row)) {
      const { whole, text } = await ask(model, "chat", question);
      expectValid("CreateChatCompletionResponse", whole);
      const { events, done } = parseEvents<WireChunk>(text);
      for (const event of events) expectValid("CreateChatCompletionStreamResponse", event);
      expect(done).toBe(true);
      expect(saidByChunks(events).choices).toEqual(saidBy(whole as unknown as WireCompletion).choices);
    }
  });

  test.each(models)("%s answers by responses", async (model, row) => {
    for (const question of questionsTo(row)) {
      const { whole, text } = await ask(model, "responses", question);
      expectValid("Response", whole);
      const { events } = parseEvents<{ type: string; sequence_number: number; response: ResponseObject }>(text);
      for (const event of events) expectValid("ResponseStreamEvent", event);
      expect(events.map(({ sequence_number: number }) => number)).toEqual(events.map((_, index) => index));
      const last = events.at(-1);
      expect(last?.type).toBe("response.completed");
      expect(saidByResponse(last?.response as ResponseObject)).toEqual(saidByResponse(whole as ResponseObject));
    }
  });
});

/** An answer without what is made up anew for each. */
function saidByResponse({ output, usage, ...rest }: ResponseObject): Json {
  const items = output.map((item) => ({
    ...item,
    id: "",
    ...("encrypted_content" in item && { encrypted_content: "" }),
  }));
  return { ...rest, id: "", created_at: 0, completed_at: 0, output: items, usage };
}

/** A message without its id, and with a mark for the envelope of its reasoning, which is another one each time. */
function withoutSeals(message: unknown): unknown {
  const { content, ...rest } = message as { content: Json[] };
  const blocks = content.map((block) => (block.signature === undefined ? block : { ...block, signature: "sealed" }));
  return { ...rest, content: blocks, id: "" };
}

describe("as Anthropic's client for Node types it, whole and streamed, the same both ways", () => {
  test.each(models)("%s answers by messages", async (model, row) => {
    for (const question of questionsTo(row)) {
      const { whole, text } = await ask(model, "messages", question);
      readMessage(whole);
      const { events } = parseEvents<MessagesEvent>(text);
      for (const event of events) if (event.type !== "ping") readMessageEvent(event);
      const names = [...text.matchAll(/^event: (.*)$/gm)].map(([, name]) => name);
      expect(names).toEqual(events.map(({ type }) => type));
      expect(withoutSeals(accumulate(events))).toEqual(withoutSeals(whole));
    }
  });
});
