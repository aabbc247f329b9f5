import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { streamText } from "ai";
import OpenAI from "openai";
import { type InProcessGateway, startInProcess } from "../../support/in-process.ts";
import { preparePythonClients, pythonClientsMsMax } from "../../support/python.ts";
import { answerInText, type ScriptedProviders, startScriptedProviders } from "../../support/scripted-providers.ts";
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

const question = "Say hello to Ada";
/** Where a provider is silent, which a question names: before all that it says, behind its first event, and in the middle of its text. */
const silences = ["before its first event", "behind its first event", "between its words"] as const;

/** The events of an answer, with a silence of many heartbeats among them. */
function withSilence(answer: Response, silence: (typeof silences)[number]): Response {
  const pause = () => Bun.sleep(700);
  async function* pieces() {
    const events = (await answer.text()).split(/(?<=\n\n)/);
    const middle = events.findIndex((event) => /delta/.test(event)) + 1;
    for (const [at, event] of events.entries()) {
      if (at === [0, 1, middle][silences.indexOf(silence)]) await pause();
      yield event;
    }
  }
  return new Response(pieces() as unknown as ReadableStream, { headers: answer.headers });
}

/** Models whose provider is asked in the protocol itself, and by a translation. */
const models = { passed: "famA-5.4", translated: "famC-sonnet-4-6" };
const cases = Object.entries(models).flatMap(([way, model]) =>
  silences.map((silence) => [way, silence, model] as const),
);

describe("events in a stream of the Responses protocol while the provider is silent", () => {
  let gateway: InProcessGateway;
  let providers: ScriptedProviders;
  let client: OpenAI;
  beforeAll(async () => {
    providers = startScriptedProviders();
    providers.fault = (request) => {
      const said = JSON.stringify(request.body);
      const silence = silences.find((one) => said.includes(askSilent(one)));
      return silence && withSilence(answerInText(request), silence);
    };
    gateway = await startInProcess({ env: providers.env, sseHeartbeatMs: 60 });
    client = new OpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key, maxRetries: 0 });
  });
  afterAll(async () => {
    await gateway.stop();
    await providers.stop();
  });
  const askSilent = (silence: (typeof silences)[number]) => `${question}, silent ${silence}`;

  test.each(cases)("(%s) are there %s, numbered, and the provider is asked once", async (_, silence, model) => {
    providers.seen.length = 0;
    const response = await gateway.post("/responses", { model, input: askSilent(silence), stream: true });
    const { events } = parseEvents<{ type: string; sequence_number: number }>(await response.text());
    const beats = events.filter(({ type }) => type === "response.in_progress").length - 1;
    expect(beats).toBeGreaterThan(1);
    const isNumbered = events.map(
      ({ sequence_number: number }, at) => number - (events[at - 1]?.sequence_number ?? -1),
    );
    expect(isNumbered.filter((step) => step === 0).length).toBe(beats);
    expect(isNumbered.filter((step) => step !== 0 && step !== 1)).toEqual([]);
    expect([events.at(-1)?.type, providers.seen.length]).toEqual(["response.completed", 1]);
  });

  test("are borne by the official client for Node, wherever the provider is silent", async () => {
    const heard = await Promise.all(
      cases.map(async ([way, silence, model]) => {
        const input = askSilent(silence);
        const whole = await client.responses.stream({ model, input }).finalResponse();
        let text = "";
        for await (const event of await client.responses.create({ model, input, stream: true })) {
          if (event.type === "response.output_text.delta") text += event.delta;
        }
        return [way, silence, whole.output_text, whole.status, text];
      }),
    );
    expect(heard).toEqual(cases.map(([way, silence]) => [way, silence, "Hello Ada", "completed", "Hello Ada"]));
  });

  test("are borne by the AI SDK, wherever the provider is silent", async () => {
    const sdk = createOpenAI({ baseURL: gateway.baseUrl, apiKey: gateway.key });
    const heard = await Promise.all(
      cases.map(async ([way, silence, model]) => {
        const { text } = streamText({ model: sdk.responses(model), prompt: askSilent(silence), maxRetries: 0 });
        return [way, silence, await text];
      }),
    );
    expect(heard).toEqual(cases.map(([way, silence]) => [way, silence, "Hello Ada"]));
  });

  test(
    "are borne by the official client for Python",
    async () => {
      const python = await preparePythonClients();
      if (python.missing !== undefined) return console.log(`Skipped: heartbeats and Python: ${python.missing}`);
      const script = [
        "import sys, openai",
        "client = openai.OpenAI(base_url=sys.argv[1], api_key=sys.argv[2], max_retries=0)",
        "for model, question in zip(sys.argv[3::2], sys.argv[4::2]):",
        "    with client.responses.stream(model=model, input=question) as stream:",
        "        for event in stream: pass",
        "        print(stream.get_final_response().output_text)",
        "    stream = client.responses.create(model=model, input=question, stream=True)",
        "    print(''.join(event.delta for event in stream if event.type == 'response.output_text.delta'))",
      ].join("\n");
      const asked = cases.flatMap(([, silence, model]) => [model, askSilent(silence)]);
      const said = await output([python.command as string, "-c", script, gateway.baseUrl, gateway.key, ...asked]);
      expect(said.trim().split("\n")).toEqual(cases.flatMap(() => ["Hello Ada", "Hello Ada"]));
    },
    pythonClientsMsMax,
  );
});

async function output(command: string[]): Promise<string> {
  const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", timeout: 120_000 });
  const [said, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  if ((await child.exited) !== 0) throw new Error(`${command[0]} failed: ${complaint.slice(-1000)}`);
  return said;
}
