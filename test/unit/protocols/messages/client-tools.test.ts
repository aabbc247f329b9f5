import { describe, expect, test } from "bun:test";
import { toMessagesAnswer } from "../../../../src/protocols/messages/inbound.ts";
import { requestOf, translated } from "./support.ts";

/** Each tool that Anthropic documents as one that the client runs, with the arguments that it documents. */
const tools: [type: string, name: string, names: string][] = [
  ["bash_20241022", "bash", "command restart"],
  ["bash_20250124", "bash", "command restart"],
  ["text_editor_20241022", "str_replace_editor", "command path file_text old_str new_str insert_line view_range"],
  ["text_editor_20250124", "str_replace_editor", "command path file_text old_str new_str insert_line view_range"],
  [
    "text_editor_20250728",
    "str_replace_based_edit_tool",
    "command path file_text old_str new_str insert_line insert_text view_range",
  ],
  [
    "memory_20250818",
    "memory",
    "command path view_range file_text old_str new_str insert_line insert_text old_path new_path",
  ],
  ["computer_20241022", "computer", "action coordinate text"],
  ["computer_20250124", "computer", "action coordinate start_coordinate scroll_direction scroll_amount duration text"],
];
const later = tools.map(([type, name, names]): (typeof tools)[number] => [
  type.replace(/\d+$/, "20310930"),
  name,
  type === "computer_20241022" ? (tools.at(-1)?.[2] as string) : names,
]);

const functionOf = (tool: Record<string, unknown>) => translated(requestOf({ tools: [tool] })).request.tools?.[0];

describe("a tool of Anthropic's that the client runs", () => {
  test.each([...tools, ...later])("of type %s is the function %s with its arguments", (type, name, names) => {
    const { request, losses } = translated(requestOf({ tools: [{ type, name }] }));
    const [tool] = request.tools ?? [];
    expect(tool?.function.name).toBe(name);
    expect(tool?.function.description).not.toBe("");
    const schema = (tool?.function.parameters ?? {}) as { properties?: object; required?: string[] };
    const { properties = {}, required = [] } = schema;
    expect(Object.keys(properties).sort()).toEqual(names.split(" ").sort());
    expect(required.every((argument) => argument in properties)).toBe(true);
    expect(losses).toEqual([]);
  });

  test("is called back by its name, and its results are read", () => {
    const bash = { type: "bash_20250124", name: "bash", cache_control: { type: "ephemeral" } };
    const call = { type: "tool_use", id: "toolu_1", name: "bash", input: { command: "ls" } };
    const messages = [
      { role: "user", content: "List" },
      { role: "assistant", content: [call] },
      { role: "user", content: [{ type: "tool_result", tool_use_id: "toolu_1", content: "a.txt" }] },
    ];
    const choice = { type: "tool", name: "bash" };
    const { request, plan } = translated(requestOf({ tools: [bash], messages, tool_choice: choice }));
    expect(request.tool_choice).toEqual({ type: "function", function: { name: "bash" } });
    expect(request.tools?.[0]).toMatchObject({ cache_control: { type: "ephemeral" } });
    expect(request.messages[1]?.tool_calls?.[0]?.function).toEqual({ name: "bash", arguments: '{"command":"ls"}' });
    const message = { role: "assistant", content: null, tool_calls: request.messages[1]?.tool_calls };
    const answer = { id: "chatcmpl-1", object: "chat.completion", created: 1, model: "m" };
    const choices = [{ index: 0, message, finish_reason: "tool_calls" }];
    expect(toMessagesAnswer({ ...answer, choices } as never, plan)).toMatchObject({
      content: [call],
      stop_reason: "tool_use",
    });
  });

  test("tells the model what the request says of it", () => {
    const screen = { type: "computer_20251124", name: "computer", display_width_px: 1024, display_height_px: 768 };
    const computer = functionOf({ ...screen, display_number: 1, enable_zoom: true });
    expect(computer?.function.description).toContain("1024 by 768 pixels, display 1");
    expect(computer?.function.parameters).toMatchObject({ properties: { region: { type: "array" } } });
    const editor = { type: "text_editor_20250728", name: "str_replace_based_edit_tool" };
    expect(functionOf({ ...editor, max_characters: 9000 })?.function.description).toContain("9000 characters");
  });
});

describe("a tool that is left out is named", () => {
  test.each([
    ["web_search_20250305", "runs at Anthropic only"],
    ["code_execution_20250825", "runs at Anthropic only"],
    ["holodeck_20310930", "is of a type that is not known here"],
  ])("of type %s", (type, reason) => {
    const { request, losses } = translated(
      requestOf({
        tools: [
          { name: "own", input_schema: {} },
          { type, name: "x" },
        ],
      }),
    );
    expect(request.tools?.map((tool) => tool.function.name)).toEqual(["own"]);
    expect(losses).toEqual([{ message: `Left out the tool x, which ${reason}`, fields: ["tools.1"] }]);
  });
});

test("a tool of a type that is not known is one of the client's where it has a schema", () => {
  const schema = { type: "object", properties: { deck: { type: "integer" } } };
  const tool = functionOf({ type: "holodeck_20310930", name: "holodeck", input_schema: schema });
  expect(tool?.function).toEqual({ name: "holodeck", parameters: schema });
});

test("members of a tool that no other provider has are named", () => {
  const own = {
    name: "own",
    input_schema: {},
    input_examples: [{ a: 1 }],
    allowed_callers: ["code_execution_20250825"],
  };
  expect(translated(requestOf({ tools: [own] })).losses.flatMap(({ fields }) => fields)).toEqual([
    "tools.0.input_examples",
    "tools.0.allowed_callers",
  ]);
});
