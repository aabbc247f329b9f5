import { beforeAll, describe, expect, test } from "bun:test";
import { dirname, join } from "node:path";
import { isLong } from "../../support/long.ts";
import { preparePythonClients, pythonClientsMsMax } from "../../support/python.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const dot = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

describe("Python's clients of Responses and Messages", () => {
  const shared = useSandboxGateway();
  let found: Record<string, unknown> = {};
  let missing: string | undefined;
  let agents: string[] = [];
  let llm: (...options: string[]) => Promise<string>;

  beforeAll(async () => {
    const python = await preparePythonClients();
    missing = python.missing;
    if (missing !== undefined) return console.log(`Skipped: Python's clients: ${missing}`);
    found = await runScript<typeof found>(python.command as string, "protocols.py");
    if (!isLong) return console.log("The Agents SDK and llm of Python are for LONG=1");
    agents = await runScript<typeof agents>(python.command as string, "agents.py");
    llm = await prepareLlm(dirname(python.command as string));
  }, pythonClientsMsMax);

  async function runScript<Found>(python: string, name: string): Promise<Found> {
    const { origin, key } = shared.gateway;
    const command = [python, join(import.meta.dir, name), origin, key, "famA-4o-mini"];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", timeout: 120_000 });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if (text === "") throw new Error(`The script failed: ${complaint.slice(-1500)}`);
    return JSON.parse(text) as Found;
  }

  /** The command `llm`, told of a chat model and of a completion model in the way of its own documentation. */
  async function prepareLlm(bin: string): Promise<typeof llm> {
    const { baseUrl, key, home } = shared.gateway;
    const common = { model_name: "famA-4o-mini", api_base: baseUrl, api_key_name: "gate" };
    const chat = { model_id: "chat", ...common, supports_tools: true, supports_schema: true, vision: true };
    const models = [chat, { model_id: "completion", ...common, completion: true }];
    // JSON is YAML.
    await Bun.write(join(home, "extra-openai-models.yaml"), JSON.stringify(models));
    await Bun.write(join(home, "keys.json"), JSON.stringify({ gate: key }));
    return async (...options) => {
      const env = { PATH: process.env.PATH ?? "", HOME: home, LLM_USER_PATH: home };
      const command = [join(bin, "llm"), "--no-log", ...options];
      const child = Bun.spawn(command, { env, stdin: "ignore", stdout: "pipe", stderr: "pipe", timeout: 120_000 });
      return (await new Response(child.stdout).text()) + (await new Response(child.stderr).text());
    };
  }

  /** A test of what the script found, where the script could run; why it could not was printed. */
  const finds = (name: string, check: () => void) => test(name, () => (missing === undefined ? check() : undefined));

  finds("openai creates, streams and parses responses", () => {
    expect(found).toMatchObject({ responses_text: expect.stringContaining("Ada"), responses_usage: true });
    const events = found.responses_events as string[];
    expect([events[0], events.at(-1)]).toEqual(["response.created", "response.completed"]);
    expect(found.responses_stream).toEqual([found.responses_text, found.responses_text]);
    expect(found.responses_parsed).toBe("Place");
  });

  finds("anthropic creates, streams and counts messages, and knows a wrong key", () => {
    expect(found.messages_text).toContain("Ada");
    expect(found.messages_stream).toEqual([found.messages_text, found.messages_text]);
    expect(found.messages_count).toBeGreaterThan(0);
    expect(found.messages_wrong_key).toEqual(["AuthenticationError", true]);
  });

  test.skipIf(!isLong)("the Agents SDK calls a tool and goes on with its result, whole and streamed", () => {
    if (missing !== undefined) return;
    expect(agents.length).toBe(2);
    for (const text of agents) expect(text).toContain("the sum");
  });

  test.skipIf(!isLong)(
    "llm talks, streams, fills a schema, calls a tool, completes and looks at a picture",
    async () => {
      if (missing !== undefined) return;
      const png = join(shared.gateway.home, "dot.png");
      await Bun.write(png, Buffer.from(dot, "base64"));
      const tool = 'def add_numbers(a: int, b: int) -> str:\n    "Adds"\n    return "twelve"';
      // The first makes the database of the command.
      const whole = await llm("-m", "chat", "--no-stream", "--usage", "Say hello to Ada");
      const [streamed, filled, summed, completed, seen] = await Promise.all([
        llm("-m", "chat", "Say hello to Ada"),
        llm("-m", "chat", "--schema", "city, country", "Where is the Louvre?"),
        llm("-m", "chat", "--functions", tool, "Use add_numbers for 5 and 7"),
        llm("-m", "completion", "Say hello to Ada"),
        llm("-m", "chat", "--attachment", png, "What is it?"),
      ]);
      for (const text of [whole, streamed, completed]) expect(text).toContain("Ada");
      expect(whole).toMatch(/Token usage: \d+ input, \d+ output/);
      expect(JSON.parse(filled as string)).toEqual({ city: expect.any(String), country: expect.any(String) });
      expect([summed, seen]).toEqual([expect.stringContaining("twelve"), expect.stringContaining("1 attachment")]);
    },
  );
});
