import { describe, expect, test } from "bun:test";
import { fitCallId } from "../../../../src/lib/call-ids.ts";
import type { Call, NativeRequest } from "../../../../src/provider/index.ts";
import { readManifest } from "../../../../src/providers/manifest.ts";
import { openai } from "../../../../src/sdk/index.ts";

const manifest = {
  baseUrl: "https://api.example.com/v1",
  dialect: "openai",
  options: { responses: { omit: ["truncation"], inputTokens: true } },
  models: [{ id: "m", upstreamId: "upstream", premium: false }],
};

/** What a provider of this manifest gets of a body. */
async function send(body: Record<string, unknown>) {
  const plugin = readManifest(manifest, "example");
  const ignored: unknown[] = [];
  let sent: unknown;
  const upstream = {
    json: async (_: string, given: unknown) => {
      sent = given;
      return { output: [] };
    },
  };
  const warn = (_: string, fields: unknown) => void ignored.push(fields);
  const request = { body: { model: "m", ...body }, headers: {} };
  const call = { id: "req_1", request, model: plugin.models[0], upstream, warn } as unknown as Call<NativeRequest>;
  await plugin.handlers.responses?.(call);
  return { sent, ignored };
}

describe("a provider of the Responses protocol", () => {
  test("can be a manifest, with the options of the dialect", async () => {
    const { sent, ignored } = await send({ input: "Hi", truncation: "auto", max_output_tokens: 9, tomorrow: { a: 1 } });
    expect(sent).toEqual({ model: "upstream", input: "Hi", max_output_tokens: 9, tomorrow: { a: 1 }, store: false });
    expect(ignored).toEqual(["truncation"]);
  });

  test("gets ids of calls that it takes, in calls and results alike", async () => {
    const long = "x".repeat(94);
    const turn = (call_id: string) => [
      { type: "function_call", call_id, name: "f", arguments: "{}" },
      { type: "function_call_output", call_id, output: "x" },
    ];
    expect((await send({ input: turn(long) })).sent).toMatchObject({ input: turn(fitCallId(long, "responses")) });
    expect((await send({ input: turn("Bash:0") })).sent).toMatchObject({ input: turn("Bash:0") });
  });

  test("has the schemas of its tools made whole", async () => {
    const bare = { type: "function", name: "bare", parameters: { type: "object" } };
    const { sent } = await send({ input: "Hi", tools: [bare] });
    expect(sent).toMatchObject({ tools: [{ ...bare, parameters: { type: "object", properties: {} } }] });
  });

  test("gets a choice among the tools that are left", async () => {
    const look = { type: "function", name: "look" };
    const choice = { type: "allowed_tools", mode: "auto", tools: [look, { type: "web_search" }] };
    const { sent } = await send({ input: "Hi", tools: [look, { type: "web_search" }], tool_choice: choice });
    expect(sent).toMatchObject({ tools: [look], tool_choice: { ...choice, tools: [look] } });
    const { sent: other } = await send({ input: "Hi", tools: [{ type: "mcp" }], tool_choice: { type: "mcp" } });
    expect(other).toEqual({ model: "upstream", input: "Hi", store: false });
  });

  test("is told by the options: no handler without them", () => {
    expect(Object.keys(openai({ chat: {} }))).toEqual(["chat"]);
    expect(Object.keys(openai({ responses: {} }))).toEqual(["responses"]);
  });
});
