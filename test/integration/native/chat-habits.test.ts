import { afterEach, describe, expect, test } from "bun:test";
import { chatReply, gpt, type NativeBench, startNative } from "./fixture.ts";

const toStop: NativeBench[] = [];
afterEach(async () => {
  for (const bench of toStop.splice(0)) await bench.stop();
});

const tools = [{ type: "function", function: { name: "look", parameters: { type: "object" } } }];
const body = { model: gpt, messages: [{ role: "user", content: "Hi" }] };

async function start() {
  const bench = await startNative((seen) => chatReply(seen));
  toStop.push(bench);
  return bench;
}

describe("chat in the words of other providers", () => {
  test.each([
    ["any", "required", null],
    ["validated", "auto", "tool_choice"],
  ])("reaches OpenAI in its own words where tool_choice is %s", async (tool_choice, sent, ignored) => {
    const { ask, seen } = await start();
    const response = await ask("/chat/completions", { ...body, tools, tool_choice });
    expect([response.status, response.headers.get("x-modelgate-ignored")]).toEqual([200, ignored]);
    expect(seen[0]?.body.tool_choice).toBe(sent);
  });

  test.each([
    [{ reasoning: { effort: "high" } }, "high"],
    [{ thinking: { type: "enabled", budget_tokens: 2000 } }, "low"],
    [{ thinking: { type: "enabled", budget_tokens: 30_000 } }, "high"],
    [{ reasoning: { effort: "high" }, reasoning_effort: "low" }, "low"],
  ])("asks for the effort of %p", async (fields, effort) => {
    const { ask, seen } = await start();
    expect((await ask("/chat/completions", { ...body, ...fields })).status).toBe(200);
    expect(seen[0]?.body).toMatchObject({ reasoning_effort: effort });
    expect(seen[0]?.body).not.toHaveProperty("reasoning");
    expect(seen[0]?.body).not.toHaveProperty("thinking");
  });
});

describe("a fault that only the operator can cure", () => {
  test.each([401, 402])("is one 400 with its sentence at /responses where the provider answers %d", async (status) => {
    const bench = await startNative(() => Response.json({ error: { message: "No", type: "x" } }, { status }));
    toStop.push(bench);
    const response = await bench.ask("/responses", { model: gpt, input: "Hi" });
    expect([response.status, response.headers.get("x-should-retry")]).toEqual([400, "false"]);
    expect(await response.json()).toMatchObject({
      error: { message: expect.stringContaining("contact the operator") },
    });
  });
});
