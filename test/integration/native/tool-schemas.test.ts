import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { isRecord } from "../../../src/lib/json.ts";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";

/** A tool of an MCP server, whose arguments are one of three objects. */
const alternatives = {
  type: "object",
  anyOf: [
    { type: "object", properties: { content: { type: "string" } }, required: ["content"] },
    { type: "object", properties: { source_url: { type: "string" } }, required: ["source_url"] },
    { $ref: "#/$defs/file" },
  ],
  $defs: { file: { type: "object", properties: { source_file_id: { type: "string" } }, required: ["source_file_id"] } },
};

/** The body that each provider was sent, by its path. */
const sent: { path: string; body: Record<string, unknown> }[] = [];
let gateway: InProcessGateway;
let provider: Bun.Server<undefined>;

beforeAll(async () => {
  provider = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    async fetch(request) {
      sent.push({ path: new URL(request.url).pathname, body: await request.json() });
      return Response.json({ error: { message: "The test has seen enough" }, type: "error" }, { status: 400 });
    },
  });
  const origin = `http://127.0.0.1:${provider.port}`;
  const env = Object.fromEntries(
    ["OPENAI", "ANTHROPIC", "GEMINI", "BEDROCK", "MISTRAL"].flatMap((name) => [
      [`${name}_API_KEY`, "sk-upstream"],
      [`${name}_BASE_URL`, `${origin}/${name.toLowerCase()}`],
    ]),
  );
  gateway = await startInProcess({ env: { ...env, BEDROCK_REGION: "eu-central-1" } });
});
afterAll(async () => {
  await gateway.stop();
  await provider.stop(true);
});

/** The schemas in a request, wherever its protocol has them. */
function* schemasIn(value: unknown): Generator<Record<string, unknown>> {
  if (Array.isArray(value)) for (const item of value) yield* schemasIn(item);
  if (!isRecord(value)) return;
  for (const [name, member] of Object.entries(value)) {
    const isSchema = ["parameters", "input_schema", "json"].includes(name) && isRecord(member);
    if (isSchema) yield member as Record<string, unknown>;
    else yield* schemasIn(member);
  }
}

const messages = [{ role: "user", content: "Attach it" }];
const clients = {
  "/chat/completions": {
    messages,
    tools: [{ type: "function", function: { name: "attach", parameters: alternatives } }],
  },
  "/responses": { input: "Attach it", tools: [{ type: "function", name: "attach", parameters: alternatives }] },
  "/messages": { max_tokens: 50, messages, tools: [{ name: "attach", input_schema: alternatives }] },
};

describe.each(Object.entries(clients))("alternatives at the root of a tool's schema, sent to %s", (path, body) => {
  test.each([
    ["OpenAI's chat", "famA-4.1-mini"],
    ["OpenAI's Responses", "famA-5.1"],
    ["Anthropic", "famC-sonnet-4-6"],
    ["Gemini", "famB-2.5-flash"],
    ["Bedrock", "bedrock/eu.anthropic.claude-sonnet-4-5-20250929-v1:0"],
    ["Mistral", "mistral/ministral-3b-2512"],
  ])("reach %s as optional members of one object", async (_, model) => {
    sent.length = 0;
    const response = await gateway.post(path, { model, ...body });
    expect([response.status, await response.text()]).toEqual([400, expect.stringContaining("seen enough")]);
    const schemas = sent.flatMap((request) => [...schemasIn(request.body.tools ?? request.body.toolConfig)]);
    expect(schemas).toHaveLength(1);
    const [schema] = schemas as [Record<string, unknown>];
    expect(String(schema.type).toLowerCase()).toBe("object");
    expect(Object.keys(schema.properties as object)).toEqual(["content", "source_url", "source_file_id"]);
    expect([schema.anyOf, schema.oneOf, schema.$ref, schema.required]).toEqual([
      undefined,
      undefined,
      undefined,
      undefined,
    ]);
    expect(schema.description).toBe('Give one of: "content"; "source_url"; "source_file_id"');
  });
});
