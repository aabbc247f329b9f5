import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import OpenAI from "openai";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { preparePythonClients, pythonClientsMsMax } from "../../support/python.ts";
import { parseEvents } from "../../support/sse.ts";

const model = "famA-4.1";
/** The provider thinks for longer than many comments take, before its first word and between its words. */
const [thinksFirst, thinksBetween] = ["[[fault: delay=700]] Say Ada", "[[fault: pace=250]] Say Ada"];

describe("comments in a stream while the provider thinks", () => {
  let gateway: InProcessGateway;
  beforeAll(async () => {
    gateway = await startInProcess({ env: { SANDBOX: "on" }, sseHeartbeatMs: 60 });
  });
  afterAll(() => gateway.stop());

  const bodyOf = (content: string) => ({ model, stream: true, messages: [{ role: "user", content }] });

  test.each([
    ["before its first word", thinksFirst],
    ["between its words", thinksBetween],
  ])("%s are there, and nothing is missing", async (_, content) => {
    const response = await gateway.post("/chat/completions", bodyOf(content));
    expect(response.status).toBe(200);
    const text = await response.text();
    expect(text.match(/^: keep-alive\n\n/gm)?.length).toBeGreaterThan(1);
    expect(parseEvents(text).done).toBe(true);
  });

  test("a provider's failure after them is an error event; before them it has its status", async () => {
    const late = await gateway.post("/chat/completions", bodyOf("[[fault: delay=700]] [[fault: status=400]] Hello"));
    const { events, done } = parseEvents<{ error?: { code: string } }>(await late.text());
    expect([late.status, done, events.at(-1)?.error?.code]).toEqual([200, false, "invalid_request"]);
    expect(gateway.ledger.callOf(late)).toMatchObject({ state: "released", status: 400 });
    const soon = await gateway.post("/chat/completions", bodyOf("[[fault: status=400]] Hello"));
    expect(soon.status).toBe(400);
  });

  test.each([thinksFirst, thinksBetween])("are borne by the official client for Node: %s", async (content) => {
    const client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
    const stream = client.chat.completions.stream({ model, messages: [{ role: "user", content }] });
    expect((await stream.finalChatCompletion()).choices[0]?.message.content).toContain("Ada");
  });

  test.each([thinksFirst, thinksBetween])("are borne by the Vercel AI SDK: %s", async (prompt) => {
    const sdk = createOpenAICompatible({ name: "modelgate", baseURL: gateway.baseUrl, apiKey: gateway.key });
    const { text } = streamText({ model: sdk.chatModel(model), prompt, maxRetries: 0 });
    expect(await text).toContain("Ada");
  });

  test(
    "are borne by the official client for Python",
    async () => {
      const python = await preparePythonClients();
      if (python.missing !== undefined) return console.log(`Skipped: comments and Python: ${python.missing}`);
      const script = [
        "import sys, openai",
        "client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)",
        "for content in sys.argv[3:]:",
        `    stream = client.chat.completions.create(model='${model}', stream=True, messages=[{'role': 'user', 'content': content}])`,
        "    print(''.join(chunk.choices[0].delta.content or '' for chunk in stream if chunk.choices))",
      ].join("\n");
      const asked = [gateway.baseUrl, gateway.key, thinksFirst, thinksBetween];
      const said = await output([python.command as string, "-c", script, ...asked]);
      expect(said.match(/Ada/g)?.length).toBeGreaterThanOrEqual(2);
    },
    pythonClientsMsMax,
  );

  test.skipIf(Bun.which("curl") === null)("are shown by curl -N as they come", async () => {
    const headers = ["-H", `authorization: Bearer ${gateway.key}`, "-H", "content-type: application/json"];
    const body = JSON.stringify(bodyOf(thinksFirst));
    const said = await output(["curl", "-sN", ...headers, "-d", body, `${gateway.baseUrl}/chat/completions`]);
    expect(said).toStartWith(": keep-alive\n\n");
    expect(said).toEndWith("data: [DONE]\n\n");
  });
});

async function output(command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", timeout: 120_000 });
  const [said, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${complaint.slice(-1000)}`);
  return said;
}
