import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { builtBinary } from "../../support/binary.ts";
import { commandLine, type Gateway, startGateway } from "../../support/gateway.ts";
import { isLong } from "../../support/long.ts";

/** The promise is 2 s; a machine that has other work may be later, and what is tested is that no restart is needed. */
const effectMsMax = 60_000;

const folder = mkdtempSync(join(tmpdir(), "modelgate-live-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const premium = "famA-4.1";
const free = "famA-4.1-nano";

const forms = isLong ? (["source", "binary"] as const) : (["binary"] as const);
if (!isLong) console.log("Commands from source, beside a gateway from source, are for LONG=1");

describe.each(forms)("commands beside a running gateway, from %s", (form) => {
  let gateway: Gateway;
  let account: { id: string; email: string };
  let key: { id: string; key: string };
  const outside = process.env.MODELGATE_BINARY;

  beforeAll(async () => {
    // The support starts what this names, or the source when it is empty.
    process.env.MODELGATE_BINARY = form === "binary" ? builtBinary() : "";
    gateway = await startGateway({ env: { SANDBOX: "on" } });
    account = await gateway.cli("account", "create", "--email", "ada@example.org", "--name", "Ada");
    key = await gateway.cli("key", "create", "--account", account.email, "--name", "laptop");
  });
  afterAll(async () => {
    expect(await gateway.stop()).toBe(0);
    process.env.MODELGATE_BINARY = outside ?? "";
  });

  const chat = async (model: string, secret = key.key) => {
    const body = { model, messages: [{ role: "user", content: "Say hello" }] };
    const response = await gateway.post("/chat/completions", body, { authorization: `Bearer ${secret}` });
    const answer = (await response.json()) as { error?: { code: string } };
    return response.ok ? "answered" : answer.error?.code;
  };
  const becomes = (ask: () => Promise<unknown>, expected: unknown) => untilEqual(ask, expected);
  const balance = async () => {
    const { balance_usd } = await gateway.cli<{ balance_usd: string }>("wallet", "show", account.id);
    return Number(balance_usd);
  };

  test("a new key is known", () => becomes(() => chat(free), "answered"));

  test("a command whose reader has gone ends without an error, as with `head`", async () => {
    const span = ["--from", "2026-01-01", "--to", "2026-12-31", "--format", "csv"];
    const env = { PATH: process.env.PATH ?? "", HOME: gateway.home, MODELGATE_HOME: gateway.home };
    const command = [...commandLine(), "ledger", "export", ...span];
    const child = Bun.spawn(command, { env, stdout: "pipe", stderr: "pipe" });
    await child.stdout.cancel();
    expect(await new Response(child.stderr).text()).toBe("");
    expect(await child.exited).toBe(0);
  });

  test("a credit lets paid calls in, which are paid from it", async () => {
    expect(await chat(premium)).toBe("insufficient_balance");
    const credit = ["--usd", "5.00", "--note", "test"];
    expect(await gateway.cli("wallet", "credit", "--account", account.email, ...credit)).toMatchObject({
      balance_usd: "5",
    });
    await becomes(() => chat(premium), "answered");
    expect(await balance()).toBeLessThan(5);
    expect(await balance()).toBeGreaterThan(4.9);
  });

  test("a quota holds, and opens again", async () => {
    await gateway.cli("quota", "set", "--account", account.id, "--tokens", "0");
    await becomes(() => chat(free), "quota_exceeded");
    await gateway.cli("quota", "set", "--account", account.id, "--tokens", "1000000");
    await becomes(() => chat(free), "answered");
  });

  test("a key is bound to its models", async () => {
    const bound = await gateway.cli<{ key: string }>(
      ...["key", "create", "--account", account.id, "--name", "bound", "--models", `gpt-4.1-nano,${premium}`],
    );
    await becomes(() => chat(free, bound.key), "answered");
    expect(await chat("famA-4o", bound.key)).toBe("model_not_allowed");
  });

  test("a revoked key is refused", async () => {
    const doomed = await gateway.cli<{ id: string; key: string }>(
      ...["key", "create", "--account", account.id, "--name", "doomed", "--expires", "1h"],
    );
    await becomes(() => chat(free, doomed.key), "answered");
    await gateway.cli("key", "revoke", doomed.id);
    await becomes(() => chat(free, doomed.key), "invalid_api_key");
    expect(await chat(free)).toBe("answered");
  });

  test("accounts and keys are listed", async () => {
    const accounts = await gateway.cli<{ email: string }[]>("account", "list");
    expect(accounts.map(({ email }) => email)).toContain(account.email);
    const keys = await gateway.cli<{ id: string; state: string }[]>("key", "list", "--account", account.id);
    expect(keys.find(({ id }) => id === key.id)).toMatchObject({ state: "active" });
    expect(await gateway.cli("account", "show", account.email)).toMatchObject({ id: account.id, keys: keys.length });
  });

  test("the models listed are those served", async () => {
    const listed = await gateway.cli<{ id: string; aliases: string[]; served: string }[]>("models");
    const { data } = (await (await gateway.ask("/models")).json()) as { data: { id: string }[] };
    const [served, others] = [true, false].map((isServed) =>
      listed.filter((row) => (row.served === "sandbox") === isServed),
    );
    expect(served?.flatMap(({ id, aliases }) => [id, ...aliases]).sort()).toEqual(data.map(({ id }) => id).sort());
    const words = new Set(others?.map(({ served }) => served));
    const ended = [...words].flatMap((text) => /^no: its provider ended it on (\S+)$/.exec(text)?.[1] ?? []);
    expect(ended.filter((day) => Date.parse(day) > Date.now())).toEqual([]);
    // The sandbox simulates no clouds, and the list says what each of them needs.
    const needs = [
      "no: set AZURE_API_KEY or store a key",
      "no: set BEDROCK_MANTLE_REGION with BEDROCK_MANTLE_API_KEY or store a key",
      "no: set BEDROCK_REGION with BEDROCK_API_KEY or store a key",
      "no: set VERTEX_PROJECT with VERTEX_LOCATION and VERTEX_SERVICE_ACCOUNT or store a key",
    ];
    expect([...words].filter((text) => !text.includes("ended")).sort()).toEqual(needs);
  });

  test("the ledger is consistent while it runs", async () => {
    expect(await gateway.cli("ledger", "verify")).toMatchObject({ ok: true, differences: [] });
  });

  test("health exits with 0 and prints that the gateway is ready", async () => {
    const { code, stdout } = await gateway.run("health");
    expect({ code, stdout }).toEqual({ code: 0, stdout: `${gateway.origin} is ready\n` });
  });

  test("facts need no gateway", async () => {
    const findings = await gateway.cli<{ model: string; finding: string }[]>("catalogue", "check");
    expect(findings).toContainEqual(expect.objectContaining({ model: "hostG/compound", finding: "unpriced" }));
    expect(await gateway.cli("config")).toContainEqual({ name: "SANDBOX", value: "on", source: "environment" });
    const { version, commit } = await gateway.cli<{ version: string; commit: string | null }>("version");
    expect(version).toMatch(/^\d+\.\d+\.\d+$/);
    if (form === "source") expect(commit).toBeNull();
    expect((await gateway.run("--help")).stdout).toMatch(/^ {2}account create +Create an account/m);
  });

  test("a shell without the gateway's variables is told the settings of the gateway that runs", async () => {
    const env = { PATH: process.env.PATH ?? "", HOME: gateway.home, MODELGATE_HOME: gateway.home, LOG_LEVEL: "error" };
    const read = async (...flags: string[]) => {
      const child = Bun.spawn([...commandLine(), "config", ...flags], { env, stdout: "pipe", stderr: "pipe" });
      return await new Response(child.stdout).text();
    };
    const rows = JSON.parse(await read("--json"));
    expect(rows).toContainEqual({ name: "SANDBOX", value: "on", source: "environment" });
    expect(rows).not.toContainEqual({ name: "LOG_LEVEL", value: "error", source: "environment" });
    expect(await read()).toEndWith("As the running gateway was started\n");
  });

  test("a usage error exits with 2 and one sentence", async () => {
    const { code, stdout, stderr } = await gateway.run("walet", "show");
    expect({ code, stdout, stderr }).toEqual({
      code: 2,
      stdout: "",
      stderr: "Unknown command walet show, did you mean wallet show?\n",
    });
  });

  test.each([
    ["a wrong variable", { PORT: "http" }, 2, 'Cannot use PORT: it is "http"'],
    ["a wrong base URL", { OPENAI_BASE_URL: "openai" }, 2, 'Cannot use OPENAI_BASE_URL: it is "openai"'],
    [
      "a wrong base URL of a server of one's own",
      { VLLM_BASE_URL: "127.0.0.1:8000" },
      2,
      'Cannot use VLLM_BASE_URL: it is "127.0.0.1:8000"',
    ],
    [
      "a wrong first key",
      { MODELGATE_BOOTSTRAP_KEY: "hunter2" },
      2,
      "Cannot use MODELGATE_BOOTSTRAP_KEY: its value is invalid",
    ],
    ["nothing to serve", { SANDBOX: "off" }, 1, "No provider is configured"],
    ["nothing to serve to others", { HOST: "0.0.0.0" }, 1, "SANDBOX=on"],
  ])("a start with %s stops with one sentence", async (_, env, code, sentence) => {
    const started = await serveOnce(env);
    expect(started).toMatchObject({ code, stdout: "" });
    expect(started.stderr).toContain(sentence);
    expect(started.stderr).toMatch(/^[A-Z][^\n]+\n$/);
    expect(started.stderr).not.toContain("hunter2");
  });

  test("a start on a taken port says so", async () => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    const { port } = server.address() as { port: number };
    const { code, stderr } = await serveOnce({ PORT: String(port) });
    await new Promise((resolve) => server.close(resolve));
    expect(code).toBe(1);
    expect(stderr).toContain(`Cannot listen on 127.0.0.1:${port}: the port is in use; set PORT to another\n`);
  });
});

/** Runs `serve` on a fresh home until it ends by itself, which it is expected to. */
async function serveOnce(env: Record<string, string>) {
  const home = mkdtempSync(join(folder, "home-"));
  const child = Bun.spawn([...commandLine(), "serve"], {
    cwd: home,
    env: { PATH: process.env.PATH ?? "", HOME: home, MODELGATE_HOME: join(home, "modelgate"), PORT: "0", ...env },
    stdout: "pipe",
    stderr: "pipe",
    timeout: 120_000,
  });
  const [stdout, stderr, code] = await Promise.all([textOf(child.stdout), textOf(child.stderr), child.exited]);
  return { code, stdout, stderr };
}

const textOf = (pipe: ReadableStream) => new Response(pipe).text();

async function untilEqual(ask: () => Promise<unknown>, expected: unknown): Promise<void> {
  const deadline = Date.now() + effectMsMax;
  let found = await ask();
  while (found !== expected && Date.now() < deadline) {
    await Bun.sleep(100);
    found = await ask();
  }
  expect(found).toBe(expected as typeof found);
}
