import { describe, expect, test } from "bun:test";
import type { GatewayError } from "../../../../src/contract/index.ts";
import { isResponsesBody } from "../../../../src/protocols/chat/inbound.ts";
import {
  checkResponsesRequest,
  listReferences,
  previousResponseNotFound,
  refuseChatBody,
  toStoredItems,
} from "../../../../src/protocols/responses/inbound.ts";
import type { ResponseItem } from "../../../../src/protocols/responses/schema.ts";
import { errorOf } from "../../../support/error-of.ts";
import { goldenCases, sent, translate } from "./support.ts";

interface Golden {
  about: string;
  request: object;
  earlier?: ResponseItem[];
  referenced?: ResponseItem[];
  chat: object;
  warnings: string[];
}

describe("a request", () => {
  test.each(goldenCases<Golden>("requests"))("%s", (_, { request, earlier, referenced, chat, warnings }) => {
    const known = new Map((referenced ?? []).map((item) => [item.id as string, item]));
    const translated = translate(request, { referenced: known, ...(earlier !== undefined && { earlier }) });
    expect(sent(translated.chat)).toEqual(chat as never);
    expect(translated.plan.losses.map(({ message }) => message)).toEqual(warnings);
  });

  test("gets no default temperature", () => {
    expect("temperature" in translate({ model: "m", input: "Hi" }).chat).toBe(false);
  });

  test("warns of twenty things at most, each in a short sentence", () => {
    const tools = Array.from({ length: 99 }, (_, index) => ({ type: `${index}${"x".repeat(999)}` }));
    const warnings = translate({ model: "m", input: "Hi", tools }).plan.losses.map(({ message }) => message);
    expect(warnings.length).toBe(20);
    expect(Math.max(...warnings.map((sentence) => sentence.length))).toBeLessThan(150);
  });

  test("of a native route is refused for what no route serves, and for nothing else", () => {
    expect(() => checkResponsesRequest({ model: "m", background: true })).toThrow("background is not available here");
    // A template is the operator's, and can bring tools and a model that no price covers.
    expect(() => checkResponsesRequest({ model: "m", prompt: { id: "pmpt_1" } })).toThrow("Prompt templates");
    checkResponsesRequest({ model: "m", background: false, prompt: null, conversation: null });
  });

  test("allows each function once, however often it or its namespace is named", () => {
    const tools = [{ type: "namespace", name: "files", tools: ["a", "b"].map((name) => ({ type: "function", name })) }];
    const named = { type: "namespace", name: "files" };
    const choice = { type: "allowed_tools", mode: "auto", tools: [named, named, named] };
    const { chat } = translate({ model: "m", input: "Hi", tools, tool_choice: choice });
    const allowed = ["files__a", "files__b"].map((name) => ({ type: "function", function: { name } }));
    expect(sent<unknown>(chat.tool_choice)).toEqual({
      type: "allowed_tools",
      allowed_tools: { mode: "auto", tools: allowed },
    });
  });

  test("lists the items it refers to, also those without a type", () => {
    const input = [{ type: "item_reference", id: "a" }, { id: "b" }, { role: "user", content: "Hi", id: "c" }];
    expect(listReferences({ model: "m", input } as never)).toEqual(["a", "b"]);
    expect(listReferences({ model: "m", input: "Hi" })).toEqual([]);
  });
});

describe("an item of a type that is not known", () => {
  const from = (...input: object[]) => {
    const { chat, plan } = translate({ model: "m", input: [{ role: "user", content: "Go" }, ...input] });
    return [sent<unknown[]>(chat.messages).slice(1), plan.losses.map(({ message }) => message)];
  };
  const unread = (type: string) => `Left out an item of type "${type}", which only its own provider can read`;
  const sealed = "Left out encrypted_content of a message, which only its own provider can read";
  const sealedText = "[Encrypted content that only another model can read]";
  const secret = { type: "encrypted_content", encrypted_content: "gAAA" };

  test("is a message where it has text, after a line with the agents that it is from and to", () => {
    const agents = { type: "agent_message", id: "amsg_1", author: "/root", recipient: "/root/child" };
    const text = { type: "input_text", text: "NEW_TASK\nlist files" };
    const line = "Message from /root to /root/child:";
    expect(from({ ...agents, content: [text] })).toEqual([[{ role: "user", content: `${line}\n${text.text}` }], []]);
    expect(from({ ...agents, content: [secret] })).toEqual([
      [{ role: "user", content: `${line}\n${sealedText}` }],
      [sealed],
    ]);
    const image = { type: "input_image", image_url: "data:image/png;base64,AA==" };
    const file = { type: "input_file", file_data: "data:application/pdf;base64,AA==", filename: 1 };
    expect(from({ ...agents, recipient: null, content: [image, { type: "of_next_year" }, file] })).toEqual([
      [
        {
          role: "user",
          content: [
            { type: "text", text: "Message from /root:" },
            { type: "image_url", image_url: { url: image.image_url } },
            { type: "file", file: { file_data: file.file_data } },
          ],
        },
      ],
      [],
    ]);
    expect(from({ type: "note_of_next_year", text: "Hi" }, { type: "x", role: "assistant", content: "Ho" })).toEqual([
      [
        { role: "user", content: "Hi" },
        { role: "assistant", content: "Ho" },
      ],
      [],
    ]);
  });

  test("is a call or its output where it has both halves of the pair, whatever type the other half is of", () => {
    const action = { type: "exec", command: ["ls"] };
    const shell = { type: "local_shell_call", id: "lsh_1", call_id: "c1", status: "completed", action };
    const said = (content: unknown) => [
      {
        role: "assistant",
        content: null,
        tool_calls: [
          { id: "c1", type: "function", function: { name: "local_shell", arguments: JSON.stringify({ action }) } },
        ],
      },
      { role: "tool", tool_call_id: "c1", content },
    ];
    const output = { call_id: "c1", output: "a.txt" };
    expect(from(shell, { type: "function_call_output", ...output })).toEqual([said("a.txt"), []]);
    expect(from(shell, { type: "local_shell_call_output", id: "c1", output: "a.txt" })).toEqual([said("a.txt"), []]);
    const lines = [{ stdout: "a.txt", stderr: "" }];
    expect(from(shell, { type: "shell_call_output", call_id: "c1", output: lines })).toEqual([
      said(JSON.stringify(lines)),
      [],
    ]);
    const screen = { type: "computer_screenshot", image_url: "data:image/png;base64,AA==" };
    expect(from(shell, { type: "computer_call_output", call_id: "c1", output: screen })).toEqual([
      said([{ type: "image_url", image_url: { url: screen.image_url } }]),
      [],
    ]);
  });

  test("is left out with a note where it has neither, also half of a pair", () => {
    expect(
      from(
        { type: "of_next_year", id: "x", content: [{ type: "blob" }] },
        { type: "compaction", encrypted_content: "x" },
        { type: "agent_reasoning", text: "Hm" },
        { type: "shell_call", call_id: "c1", action: {} },
        { type: "shell_call_output", call_id: "c2", output: "x" },
      ),
    ).toEqual([[], ["of_next_year", "compaction", "agent_reasoning", "shell_call", "shell_call_output"].map(unread)]);
  });

  test("has an encrypted part as messages and outputs of known types have it", () => {
    expect(from({ role: "user", content: [secret] }, call, { ...output, output: [secret] })).toEqual([
      [
        { role: "user", content: sealedText },
        {
          role: "assistant",
          content: null,
          tool_calls: [{ id: "call_1", type: "function", function: { name: "look", arguments: "{}" } }],
        },
        { role: "tool", tool_call_id: "call_1", content: sealedText },
      ],
      [sealed],
    ]);
  });
});

const call = { type: "function_call", call_id: "call_1", name: "look", arguments: "{}" };
const output = { type: "function_call_output", call_id: "call_1", output: "ok" };
const look = { type: "function", name: "look", parameters: {} };
const space = (name: string, tool: string) => ({ type: "namespace", name, tools: [{ type: "function", name: tool }] });

/** What is refused: a request, the sentence and the field at fault. */
const refused: [about: string, request: object, message: string, param: string | undefined][] = [
  ["no input", {}, "input is empty, expected text or items", "input"],
  ["an input of nothing", { input: [] }, "input is empty, expected text or items", "input"],
  [
    "a background answer",
    { input: "Hi", background: true },
    "background is not available here, expected false: use stream for long answers",
    "background",
  ],
  [
    "a conversation",
    { input: "Hi", conversation: "conv_1" },
    "conversation is not available here, expected previous_response_id or the items in input",
    "conversation",
  ],
  [
    "a prompt template",
    { prompt: { id: "pmpt_1" } },
    "Prompt templates are stored at their own provider, expected the text in input",
    "prompt",
  ],
  [
    "an unknown part",
    { input: [{ role: "user", content: [{ type: "input_video", url: "x" }] }] },
    'This model takes no part of type "input_video", expected text, image or file parts',
    "input[0].content[0].type",
  ],
  [
    "a file by its id",
    { input: [{ role: "user", content: [{ type: "input_image", file_id: "file-1" }] }] },
    "This model cannot read a file that is stored elsewhere, expected its content in image_url",
    "input[0].content[0].image_url",
  ],
  [
    "a call without its output",
    { input: [call] },
    'No tool output found for the call "call_1", expected one for each call',
    "input",
  ],
  [
    "an output without its call",
    { input: [output, call] },
    'No tool call found for the output of "call_1", expected its call before it',
    "input[0].call_id",
  ],
  [
    "two outputs of a call",
    { input: [call, output, output] },
    'The call "call_1" has two outputs, expected one',
    "input[2].call_id",
  ],
  [
    "a call that is there twice",
    { input: [call, call, output] },
    'The call "call_1" is there twice, expected an id of its own for each call',
    "input[1].call_id",
  ],
  [
    "a reference to an unknown item",
    { input: [{ type: "item_reference", id: "rs_1" }] },
    'Item "rs_1" not found: it has expired or was never stored; send the item itself, or set store to false',
    "input[0].id",
  ],
  [
    "a previous response that nobody looked up",
    { input: "Hi", previous_response_id: "resp_1" },
    'Previous response "resp_1" not found: it, or one before it, has expired, was deleted or was never stored; send all items in input',
    "previous_response_id",
  ],
  [
    "two tools that become one function",
    { input: "Hi", tools: [space("a__b", "c"), space("a", "b__c")] },
    "the function tool b__c of a and the function tool c of a__b both become the function a__b__c for this model, expected different names",
    "tools[1].tools[0].name",
  ],
  [
    "a tool that is there twice",
    { input: "Hi", tools: [look, { type: "custom", name: "look" }] },
    "the custom tool look and the function tool look both become the function look for this model, expected different names",
    "tools[1].name",
  ],
  [
    "a choice of an unknown tool",
    { input: "Hi", tools: [look], tool_choice: { type: "function", name: "see" } },
    "tool_choice names see, which is not among the tools",
    "tool_choice.name",
  ],
  [
    "an allowed tool without a name",
    { input: "Hi", tools: [look], tool_choice: { type: "allowed_tools", mode: "auto", tools: [{ type: "function" }] } },
    "tool_choice.tools[0].name is missing, expected a tool's name",
    "tool_choice.tools[0].name",
  ],
];

test.each(refused)("refuses %s", async (_, request, message, param) => {
  const error = await errorOf<GatewayError>((async () => translate({ model: "m", ...request }))());
  expect([error.code, error.message, error.param]).toEqual(["invalid_request", message, param]);
});

describe("a body of the wrong protocol", () => {
  const chat = { model: "m", messages: [{ role: "user", content: "Hi" }] };

  test("is known on the chat endpoint, and translated", () => {
    const cursor = {
      model: "m",
      stream: true,
      input: [{ role: "user", content: "Hi" }, { role: "assistant", content: [] }, call, output],
      tools: [{ type: "custom", name: "apply_patch" }, look],
    };
    expect([isResponsesBody(cursor), isResponsesBody(chat), isResponsesBody([]), isResponsesBody(null)]).toEqual([
      true,
      false,
      false,
      false,
    ]);
    expect(translate(cursor).chat.messages.map(({ role }) => role)).toEqual(["user", "assistant", "tool"]);
  });

  test("is explained on the Responses endpoint", () => {
    const error = refuseChatBody(chat);
    const sentence = "This is a body of /chat/completions, expected input in place of messages: send it there";
    expect([error?.message, error?.param]).toEqual([sentence, "messages"]);
    expect([refuseChatBody({ input: "Hi" }), refuseChatBody("Hi"), refuseChatBody({})]).toEqual([
      undefined,
      undefined,
      undefined,
    ]);
  });
});

test("stored items have ids, types and parts, and can be sent back", () => {
  const { plan } = translate({
    model: "m",
    input: [{ role: "assistant", content: "Hi" }, { role: "user", content: "Ho" }, call, output],
  });
  const stored = toStoredItems(plan.input, "resp_1");
  expect(stored).toEqual([
    {
      type: "message",
      id: "msg_1_in0",
      status: "completed",
      role: "assistant",
      content: [{ type: "output_text", text: "Hi", annotations: [], logprobs: [] }],
    },
    {
      type: "message",
      id: "msg_1_in1",
      status: "completed",
      role: "user",
      content: [{ type: "input_text", text: "Ho" }],
    },
    { ...call, status: "completed", id: "fc_1_in2" },
    { ...output, status: "completed", id: "fco_1_in3" },
  ] as never);
  expect(translate({ model: "m", input: [] }, { earlier: stored }).chat.messages).toEqual(
    translate({ model: "m", input: plan.input }).chat.messages,
  );
});

test("a previous response that is not there has OpenAI's code", () => {
  const error = previousResponseNotFound("resp_1");
  expect([error.status, error.publicCode, error.param]).toEqual([
    400,
    "previous_response_not_found",
    "previous_response_id",
  ]);
});
