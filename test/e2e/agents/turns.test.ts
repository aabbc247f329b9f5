import { afterAll, beforeAll, beforeEach, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type AgentName, type Agents, prepareAgents } from "../../support/agents.ts";
import { useAgentsGateway } from "../../support/agents-gateway.ts";
import { ownerEmail } from "../../support/gateway.ts";
import { prepareMsMax } from "../../support/prepare-once.ts";
import { thoughtText } from "../../support/providers/script.ts";
import type { ScriptedRequest } from "../../support/scripted-providers.ts";
import { manifestOf, startSocketProvider } from "../../support/socket-provider.ts";
import { startTokenIssuer } from "../../support/token-issuer.ts";

const made = "made.txt";
const line = "written by an agent";
const shell = `echo '${line}' > ${made} && cat ${made}`;
const patch = `*** Begin Patch\n*** Add File: ${made}\n+${line}\n*** End Patch\n`;
const models = { openai: "gpt-5.4", anthropic: "claude-sonnet-4-6", gemini: "gemini-3-flash-preview" };
type Provider = keyof typeof models;
const providers = Object.keys(models) as Provider[];

const issuer = await startTokenIssuer();
const tokens = mkdtempSync(join(tmpdir(), "modelgate-tokens-"));
const issuers = [{ issuer: issuer.url, audiences: ["modelgate"], claims: { account: "email" } }];
const socketProvider = startSocketProvider();
const shared = useAgentsGateway(
  { JWT_ISSUERS: JSON.stringify(issuers), JWT_NETWORKS: "127.0.0.0/8", LAB_API_KEY: "sk-lab" },
  { lab: manifestOf(socketProvider, "lab", { reasoning: true }) },
);
afterAll(() => {
  void socketProvider.stop();
  issuer.stop();
  rmSync(tokens, { recursive: true, force: true });
});
let agents: Agents;
beforeAll(async () => {
  agents = await prepareAgents();
}, 3 * prepareMsMax);
beforeEach(() => {
  shared.providers.seen.length = 0;
  shared.recorder.calls.length = 0;
  shared.providers.plan = undefined;
});

type Key = Parameters<Agents["run"]>[2]["key"];

async function ask(
  agent: AgentName,
  model: string,
  key: Key = shared.gateway.key,
): Promise<{ said: string; folder: string }> {
  const before = shared.ledger.counts().calls;
  const question = "Do what there is to do, please";
  const { code, stdout, stderr, folder } = await agents.run(agent, question, { ...shared.recorder, key, model });
  expect([code, code === 0 ? "" : stdout + stderr]).toEqual([0, ""]);
  expect(shared.recorder.calls.filter(({ method }) => method === "POST").map(({ status }) => status)).toEqual(
    shared.providers.seen.map(() => 200),
  );
  const { calls, open } = shared.ledger.counts();
  expect([calls - before, open]).toEqual([shared.providers.seen.length, 0]);
  return { said: stdout, folder };
}

describe.each(["codex", "claude"] as const)("a turn of %s in text", (agent) => {
  test.each(providers)("on a model of %s", async (provider) => {
    if (agents.missing !== undefined) return;
    const { said } = await ask(agent, models[provider]);
    expect(said).toContain("Hello Ada");
    expect(shared.providers.seen.map((request) => request.provider)).toEqual([provider]);
  });
});

/** Codex asks for a WebSocket, which it does where its provider is said to have them. */
const webSockets = "supports_websockets = true";

test.each(providers)("Codex runs a tool over one WebSocket on a model of %s, each turn one call", async (provider) => {
  if (agents.missing !== undefined) return;
  const { gateway, ledger } = shared;
  shared.providers.plan = { name: "exec_command", input: { cmd: shell } };
  const before = ledger.counts().calls;
  const options = { origin: gateway.origin, key: gateway.key, model: models[provider], codexProvider: webSockets };
  const run = await agents.run("codex", "Do what there is to do, please", options);
  expect([run.code, run.stdout]).toEqual([0, expect.stringContaining("The tool said: ")]);
  expect(run.stderr).not.toMatch(/falling back|reconnecting/i);
  expect(readFileSync(join(run.folder, made), "utf8")).toBe(`${line}\n`);
  const [first, second, ...rest] = shared.providers.seen as [ScriptedRequest, ScriptedRequest];
  expect(rest).toEqual([]);
  expects[provider](first, second, "exec_command");
  const { calls, open } = ledger.counts();
  expect([calls - before, open]).toEqual([2, 0]);
});

test("Codex runs a tool over one WebSocket, and the gateway over one to its provider, which gets each item once", async () => {
  if (agents.missing !== undefined) return;
  const { gateway, ledger } = shared;
  const before = ledger.counts().calls;
  socketProvider.plan = { name: "exec_command", input: { cmd: "true" }, turns: 3 };
  const options = { origin: gateway.origin, key: gateway.key, model: "lab-1", codexProvider: webSockets };
  const run = await agents.run("codex", "Do what there is to do, please", options);
  expect([run.code, run.stdout]).toEqual([0, expect.stringContaining("The tool said: ")]);
  expect(run.stderr).not.toMatch(/falling back|reconnecting/i);
  expect(socketProvider.faults).toEqual([]);
  expect(socketProvider.handshakes.length).toBe(1);
  expect(socketProvider.seen.length).toBe(4);
  // The result of the tool alone, under the response that asked for it.
  expect(socketProvider.seen.slice(1).map(({ frame }) => [frame.previous_response_id, frame.input.length])).toEqual(
    [1, 2, 3].map((number) => [`resp_native_${number}`, 1]),
  );
  const { calls, open } = ledger.counts();
  expect([calls - before, open]).toEqual([4, 0]);
});

test("Codex that prefers a WebSocket asks for one once, and goes on by events where a proxy does not hand it on", async () => {
  if (agents.missing !== undefined) return;
  const { gateway, recorder, providers } = shared;
  const options = { origin: recorder.origin, key: gateway.key, model: models.openai };
  const run = await agents.run("codex", "Say hello", { ...options, codexProvider: webSockets });
  expect([run.code, run.stdout]).toEqual([0, expect.stringContaining("Hello Ada")]);
  expect(run.stderr).not.toContain("Falling back");
  const calls = recorder.calls.map(({ method, path, status }) => [method, path, status]);
  expect(calls).toEqual([
    ["GET", "/v1/responses", 426],
    ["POST", "/v1/responses", 200],
  ]);
  expect(providers.seen.length).toBe(1);
});

describe("a token in place of an API key", () => {
  test.each(["codex", "claude"] as const)(
    "comes from a command of %s, and is in the ledger by its subject",
    async (agent) => {
      if (agents.missing !== undefined) return;
      const token = await issuer.sign({ sub: `person of ${agent}`, email: ownerEmail });
      await Bun.write(join(tokens, agent), token);
      const { said } = await ask(agent, models.openai, { command: `cat '${join(tokens, agent)}'` });
      expect(said).toContain("Hello Ada");
      const keys = await shared.gateway.cli("key", "list", "--account", ownerEmail);
      expect(keys).toContainEqual(expect.objectContaining({ name: expect.stringContaining(`person of ${agent}`) }));
    },
  );
});

/** The tool, what the model gives it, and the names of the models where Codex offers it. */
const tools: [AgentName, string, Record<string, string> | string, Record<Provider, string>][] = [
  ["codex", "exec_command", { cmd: shell }, models],
  ["codex", "apply_patch", patch, { openai: "gpt-5.5", anthropic: "gpt-5.5-claude", gemini: "gpt-5.5-gemini" }],
  ["claude", "Bash", { command: shell, description: "Write a file" }, models],
  ["claude", "Write", { file_path: made, content: `${line}\n` }, models],
];

describe.each(tools)("a tool of %s, %s, writes a file", (agent, name, input, named) => {
  test.each(providers)("on a model of %s, which gets the result in its place", async (provider) => {
    if (agents.missing !== undefined) return;
    shared.providers.plan = { name, input };
    const { said, folder } = await ask(agent, named[provider]);
    expect(said).toContain("The tool said: ");
    expect(readFileSync(join(folder, made), "utf8")).toBe(`${line}\n`);
    const [first, second, ...rest] = shared.providers.seen as [ScriptedRequest, ScriptedRequest];
    expect(rest).toEqual([]);
    expects[provider](first, second, name);
  });
});

type Item = Record<string, unknown>;
const signatureOf = (count: number) => Buffer.from(`signature ${count} ÿþ?>~`).toString("base64");

/** What each provider must get back: its own call, the result behind it under the same id, and its proof of the thought. */
const expects: Record<Provider, (first: ScriptedRequest, second: ScriptedRequest, name: string) => void> = {
  openai(_, { path, body }, name) {
    if (path === "/v1/chat/completions") {
      const [call, result] = body.messages.slice(-2);
      expect(call.tool_calls.map((made: { function: Item }) => made.function.name)).toEqual([name]);
      expect(result).toMatchObject({ role: "tool", tool_call_id: call.tool_calls[0].id });
      return expect(call.tool_calls[0].id).toBe("call_Qm4vT9xZ1");
    }
    const [thought, call, result] = body.input.slice(-3);
    expect(thought).toMatchObject({ type: "reasoning", encrypted_content: signatureOf(1) });
    // Before the comparison, which writes its own pattern into the object.
    const { type } = call;
    expect(call).toMatchObject({ type: expect.stringMatching(/_call$/), call_id: "call_Qm4vT9xZ1", name });
    expect(result).toMatchObject({ type: `${type}_output`, call_id: "call_Qm4vT9xZ1" });
  },
  anthropic(_, { body }, name) {
    const [answer, results] = body.messages.findLast(({ role }: Item) => role !== "system").content.some(isResult)
      ? body.messages.filter(({ role }: Item) => role !== "system").slice(-2)
      : [];
    expect(answer.content).toMatchObject([
      { type: "thinking", signature: signatureOf(1) },
      { type: "tool_use", id: "toolu_Qm4vT9xZ1", name },
    ]);
    expect(results.content.find(isResult)).toMatchObject({ tool_use_id: "toolu_Qm4vT9xZ1" });
  },
  gemini(_, { body }, name) {
    const [answer, results] = body.contents.slice(-2);
    expect(answer.parts).toMatchObject([{ functionCall: { name }, thoughtSignature: signatureOf(1) }]);
    expect(results.parts[0]).toMatchObject({ functionResponse: { name } });
  },
};

const isResult = ({ type }: Item) => type === "tool_result";

/** Every value of a field, in the order of the text. */
function valuesOf(field: string, json: unknown): unknown[] {
  const found: unknown[] = [];
  JSON.stringify(json, (key, value) => {
    if (key === field) found.push(value);
    return value;
  });
  return found;
}

test("Claude Code's cache marks and thoughts reach a Claude model as they were sent", async () => {
  if (agents.missing !== undefined) return;
  shared.providers.plan = { name: "Bash", input: { command: shell, description: "Write a file" } };
  await ask("claude", models.anthropic);
  const turns = shared.recorder.calls.filter(({ method }) => method === "POST");
  for (const [index, { text }] of turns.entries()) {
    const { system, messages, tools: offered } = JSON.parse(text);
    const { body } = shared.providers.seen[index] as ScriptedRequest;
    expect(valuesOf("cache_control", [body.system, body.messages, body.tools])).toEqual(
      valuesOf("cache_control", [system, messages, offered]),
    );
    expect(valuesOf("cache_control", [system, messages]).length).toBeGreaterThan(1);
  }
  const [thought] = valuesOf("thinking", shared.providers.seen[1]?.body.messages);
  expect(thought).toBe(thoughtText);
});
