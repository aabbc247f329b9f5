import { beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSnippet } from "../../../src/dashboard/features/connect/snippets.ts";
import { ownNames } from "../../../src/http/api/codex-models.ts";
import { type Agents, prepareAgents, turnMsMax } from "../../support/agents.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";
import { useSandboxGateway } from "../../support/sandbox-gateway.ts";
import { codeBlocks, readPage, readSection, root } from "./pages.ts";

const path = "docs/agents.md";
const shown = "http://127.0.0.1:3000";
const shared = useSandboxGateway();
const blockOf = (heading: string, language: string) => codeBlocks(readSection(path, heading), language)[0] ?? "";
const flatten = (value: object, prefix = ""): [string, string][] =>
  Object.entries(value).flatMap(([key, inner]) =>
    typeof inner === "object"
      ? flatten(inner, `${prefix}${key}.`)
      : [[prefix + key, String(inner)] as [string, string]],
  );

test("the page and the dashboard give Codex the same settings", () => {
  const snippet = createSnippet("codex", { baseUrl: `${shown}/v1`, key: "KEY", model: "gpt-5.5" });
  const flags = [...snippet.matchAll(/-c ([\w.]+)='"([^"]*)"'/g)].map(([, key, value]) => [key, value]);
  const documented = flatten(Bun.TOML.parse(blockOf("## Codex", "toml")));
  expect(documented.length).toBe(6);
  expect(flags).toEqual(documented);
  expect(snippet).toStartWith("export MODELGATE_KEY=KEY\n");
});

test("the page and the dashboard give Claude Code the same settings", () => {
  const models = { model: "claude-sonnet-4-6", smallModel: "claude-haiku-4-5" };
  const options = { baseUrl: `${shown}/api/v1`, key: "$MODELGATE_KEY", ...models };
  const documented = blockOf("## Claude Code", "sh");
  expect(documented.trim()).toBe(createSnippet("claude", options));
});

describe("what the dashboard gives with a new key", () => {
  let agents: Agents;
  beforeAll(async () => {
    agents = await prepareAgents();
  }, 3 * prepareMsMax);

  test.each([
    ["codex", /^codex /m, "codex exec --skip-git-repo-check -s read-only 'Say hello to Ada' "],
    ["claude", /^claude$/m, "claude -p 'Say hello to Ada'"],
  ] as const)("starts %s", async (language, command, oneTurn) => {
    if (agents.missing !== undefined) return;
    const { baseUrl, key } = shared.gateway;
    const snippet = createSnippet(language, { baseUrl, key, model: "famA-4o-mini" });
    const home = mkdtempSync(join(tmpdir(), "modelgate-agent-"));
    const child = Bun.spawn(["sh", "-e", "-c", snippet.replace(command, oneTurn)], {
      cwd: home,
      env: { PATH: agents.path, HOME: home, CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1", DISABLE_AUTOUPDATER: "1" },
      stdio: ["ignore", "pipe", "pipe"],
      timeout: turnMsMax,
    });
    const texts = [new Response(child.stdout).text(), new Response(child.stderr).text()];
    const [said = "", complaint] = await Promise.all(texts);
    expect([await child.exited, said === "" ? complaint : ""]).toEqual([0, ""]);
    expect(shared.ledger.latest()?.model).toBe("famA-4o-mini");
    rmSync(home, { recursive: true, force: true });
  });
});

test.each(["## Anthropic SDK", "## OpenAI SDK", "## AI SDK"])("the program below %s runs", async (heading) => {
  const folder = mkdtempSync(join(root, "node_modules/.docs-"));
  try {
    writeFileSync(join(folder, "index.ts"), blockOf(heading, "ts").replace(shown, shared.gateway.origin));
    const before = shared.ledger.counts().calls;
    const env = { PATH: process.env.PATH ?? "", MODELGATE_KEY: shared.gateway.key };
    const child = Bun.spawn([process.execPath, join(folder, "index.ts")], { env, stdout: "ignore", stderr: "pipe" });
    expect([await child.exited, await new Response(child.stderr).text()]).toEqual([0, ""]);
    expect(shared.ledger.counts()).toEqual({ calls: before + 1, open: 0 });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

test("OpenCode and VS Code are given addresses that answer, and models that exist", async () => {
  const { provider, model } = JSON.parse(blockOf("## OpenCode", "json"));
  const { options, models } = provider.modelgate;
  const [{ models: listed, apiType }] = JSON.parse(blockOf("## VS Code", "json"));
  const asked = Object.keys(models).map((id) => [`${options.baseURL}/chat/completions`, id]);
  expect(Object.keys(models)).toContain(model.replace("modelgate/", ""));
  expect(apiType).toBe("chat-completions");
  for (const { id, url } of listed) asked.push([url, id]);
  for (const [url = "", id] of asked) {
    const headers = { authorization: `Bearer ${shared.gateway.key}`, "content-type": "application/json" };
    const body = JSON.stringify({ model: id, messages: [{ role: "user", content: "Say hello" }] });
    const response = await fetch(url.replace(shown, shared.gateway.origin), { method: "POST", headers, body });
    expect([url, id, response.status]).toEqual([url, id, 200]);
  }
});

/** The agents that are given an address without an endpoint: the language of their settings, and what they ask. */
const given: [heading: string, language: string, endpoint: string][] = [
  ["## Copilot CLI", "sh", "/responses"],
  ["## Qwen Code", "sh", "/chat/completions"],
  ["## Cline", "sh", "/chat/completions"],
  ["## pi", "json", "/responses"],
  ["## Continue", "yaml", "/chat/completions"],
  ["## llm", "yaml", "/chat/completions"],
];

test.each(given)("the settings below %s have an address that answers, and a model that exists", async (...row) => {
  const [heading, language, endpoint] = row;
  const settings = blockOf(heading, language);
  const address = settings.match(/http:[\w.:/-]+/)?.[0] ?? "";
  const model = settings.match(/(?:MODEL=|-m |"id": "|\bmodel: |model_name: )([\w.-]+)/)?.[1] ?? "";
  const asked = endpoint === "/responses" ? { input: "Hi" } : { messages: [{ role: "user", content: "Hi" }] };
  const response = await fetch(address.replace(shown, shared.gateway.origin) + endpoint, {
    method: "POST",
    headers: { authorization: `Bearer ${shared.gateway.key}`, "content-type": "application/json" },
    body: JSON.stringify({ model, ...asked }),
  });
  expect([address, model, response.status]).toEqual([`${shown}/v1`, "gpt-5.5", 200]);
});

test("the settings of Codex name a model of those that it knows, all of which are listed", async () => {
  const known = readSection(path, "## Codex").match(/It knows ([\s\S]*?), but not/)?.[1] ?? "";
  const names = [...known.matchAll(/`([\w.-]+)`/g)].map(([, name]) => name as string);
  expect(names.length).toBe(9);
  expect(names.filter((name) => !ownNames.has(name))).toEqual([]);
  expect(names).toContain((Bun.TOML.parse(blockOf("## Codex", "toml")) as { model: string }).model);
  const headers = { authorization: `Bearer ${shared.gateway.key}` };
  const listed = await (await fetch(`${shared.gateway.origin}/v1/models`, { headers })).json();
  const ids = (listed as { data: { id: string }[] }).data.map(({ id }) => id);
  expect(names.filter((name) => !ids.includes(name))).toEqual([]);
});

test("every address on the page is the one that the page says to replace", () => {
  for (const [address] of readPage(path).matchAll(/https?:\/\/[\w.:-]+/g)) {
    expect([shown, "https://gate.example.com"]).toContain(address);
  }
});
