import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { preparePython } from "../../support/python.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const packages = ["openai==3.52.0", "openai-agents==0.24.0", "anthropic==2.12.0"];
const installMsMax = 240_000;

describe("Python's clients of Responses and Messages", () => {
  const shared = useSandboxGateway();
  let found: Record<string, unknown> = {};
  let missing: string | undefined;

  beforeAll(async () => {
    const python = await preparePython("python-agents", ...packages);
    missing = python.missing;
    if (missing !== undefined) return console.log(`Skipped: ${packages.join(", ")}: ${missing}`);
    const { origin, key } = shared.gateway;
    const command = [python.command as string, join(import.meta.dir, "protocols.py"), origin, key, "famA-4o-mini"];
    const child = Bun.spawn(command, { stdout: "pipe", stderr: "pipe", timeout: 60_000 });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    if (text === "") throw new Error(`The script failed: ${complaint.slice(-1500)}`);
    found = JSON.parse(text) as Record<string, unknown>;
  }, installMsMax);

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

  finds("the Agents SDK calls a tool and goes on with its result, whole and streamed", () => {
    const sums = found.agents as string[];
    expect(sums.length).toBe(2);
    for (const text of sums) expect(text).toContain("the sum");
  });
});
