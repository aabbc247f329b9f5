import { beforeAll, describe, expect, test } from "bun:test";
import { join } from "node:path";
import { isLong } from "../../support/long.ts";
import { preparePython } from "../../support/python.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";

const installMsMax = 300_000;
const model = "famA-4o-mini";

/** What each row of the script finds when the client works without an option. */
const rows: [string, unknown[]][] = [
  ["langchain chat", [true, true, "add_numbers"]],
  ["langchain responses", [true]],
  ["langchain completions", [[true, true], true]],
  [
    "langchain embeddings",
    [
      [1536, 1536],
      [3072, 3072],
    ],
  ],
  ["llama-index", [true, true, true, 1536]],
  ["litellm", [true, true, true, 1536, "RIFF"]],
  ["litellm errors", ["AuthenticationError", "AuthenticationError", "ContextWindowExceededError", "RateLimitError"]],
  ["instructor", ["str", "str", "str"]],
  ["pydantic-ai", [true, true, true]],
  // Its display name is that of the provider.
  ["anthropic", [true, false, "gpt-4o-mini", true]],
  ["openai", [true, true, model, 2, true]],
];

describe("the clients of Python", () => {
  const shared = useSandboxGateway();
  let found: Record<string, unknown> = {};
  let missing: string | undefined;

  beforeAll(async () => {
    if (!isLong) {
      missing = "they take minutes to install and are for LONG=1";
      return console.log(`Skipped: the clients of Python: ${missing}`);
    }
    const python = await preparePython("python-matrix", join(import.meta.dir, "requirements.txt"));
    missing = python.missing;
    if (missing !== undefined) return console.log(`Skipped: the clients of Python: ${missing}`);
    const { baseUrl, key, home } = shared.gateway;
    const command = [python.command as string, join(import.meta.dir, "matrix.py"), baseUrl, key, model];
    const env = { PATH: process.env.PATH, HOME: home };
    const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe", timeout: 120_000 });
    const [text, complaint] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
    const last = text.trim().split("\n").at(-1);
    if (!last) throw new Error(`The script failed: ${complaint.slice(-1500)}`);
    found = JSON.parse(last) as Record<string, unknown>;
  }, installMsMax);

  test.each(rows)("%s", (name, expected) => {
    if (missing === undefined) expect(found[name]).toEqual(expected);
  });

  test("have a row each", () => {
    if (missing === undefined) expect(Object.keys(found)).toEqual(rows.map(([name]) => name));
  });
});
