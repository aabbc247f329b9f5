import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startProvider } from "../../support/chat-provider.ts";
import { commandLine, type Gateway, startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";

const key = "provider-key-first-0001";
const upstream = startProvider(key);
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway({ env: { SANDBOX: "", OPENAI_API_KEY: key, OPENAI_BASE_URL: upstream.baseUrl } });
});
afterAll(async () => {
  upstream.stop();
  await gateway.stop();
});

/** Runs a command in a shell without the variables of the gateway. */
const run = (...args: string[]) => runAt(gateway.home, args);

async function runAt(home: string, args: readonly string[]) {
  const child = Bun.spawn([...commandLine(), ...args], {
    env: { PATH: process.env.PATH ?? "", HOME: home, MODELGATE_HOME: home },
    stdout: "pipe",
    stderr: "pipe",
  });
  const [stdout, stderr] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { stdout, stderr, code: await child.exited };
}

const ask = () =>
  gateway.post("/chat/completions", { model: "gpt-4.1-mini", messages: [{ role: "user", content: "Hi" }] });

test("commands in another shell tell the state of the gateway that runs, and the incident of a provider", async () => {
  expect((await ask()).status).toBe(200);
  upstream.answer.status = 500;
  for (let call = 0; call < 2; call++) expect((await ask()).ok).toBe(false);

  const readOpenai = async () => {
    const { stdout } = await run("provider", "list", "--json");
    // biome-ignore lint/suspicious/noExplicitAny: what is asked of it is asserted.
    return (JSON.parse(stdout) as any[]).find(({ name }) => name === "openai");
  };
  await until(async () => (await readOpenai()).health.recent.errors >= 4);
  expect(await readOpenai()).toMatchObject({
    status: "serving",
    health: { state: "failing", recent: { attempts: 5, errors: 4 } },
    keys: [{ id: null, source: "OPENAI_API_KEY", in_force: true }],
  });
  const listed = (await run("provider", "list")).stdout;
  expect(listed).toMatch(/^openai +serving +failing +4 of 5 /m);
  expect(listed).toEndWith("\n\nAs the running gateway reports\n");
  expect((await run("models")).stdout).toMatch(/^gpt-4\.1-mini .*openai$/m);

  const tested = await run("provider", "test", "openai");
  expect([tested.code, tested.stderr]).toEqual([
    2,
    expect.stringContaining("The running gateway has OPENAI_API_KEY in its environment, which this shell lacks"),
  ]);

  const incident = await run("provider", "incident", "openai", "--json");
  expect(JSON.parse(incident.stdout)).toMatchObject({
    id: "openai",
    state: "failing",
    calls: 2,
    failed_calls: 2,
    project_count: 1,
    answers: [{ code: "upstream_error", calls: 2 }],
    customer_text: expect.stringContaining("requests to gpt-4.1-mini have been failing"),
  });
  const { stdout } = await run("provider", "incident", "openai");
  expect(stdout).toContain("Accounts with failed requests\n");
  expect(stdout).toMatch(/gpt-4\.1-mini +2 of 2 +no other route/);
  expect((await run("provider", "incident", "nobody")).code).toBe(3);

  const made = await run(
    "reroute",
    "create",
    "--subject",
    "model",
    "--name",
    "gpt-4.1-mini",
    "--to-model",
    "gpt-4.1-nano",
    "--until",
    "2h",
  );
  expect([made.code, made.stderr]).toEqual([0, ""]);
  expect((await run("reroute", "list")).stdout).toMatch(/model +gpt-4\.1-mini +gpt-4\.1-nano /);
  const effectOf = async () => {
    const [{ is_effective: isEffective, ineffective_reason: reason }] = JSON.parse(
      (await run("reroute", "list", "--json")).stdout,
    );
    return [isEffective, reason];
  };
  expect(await effectOf()).toEqual([true, null]);
  upstream.answer.status = 200;
  await until(async () => {
    const answer = await ask();
    await answer.body?.cancel();
    return answer.headers.get("x-modelgate-model") === "famA-4.1-nano";
  });
  const [{ id }] = JSON.parse((await run("reroute", "list", "--json")).stdout);
  expect((await run("reroute", "change", id, "--to-model", "claude-haiku-4-5")).code).toBe(0);
  expect(await effectOf()).toEqual([
    false,
    'No provider that serves "claude-haiku-4-5-20251001" is enabled and has a key',
  ]);
  expect((await run("reroute", "remove", id)).code).toBe(0);
});

test("a re-route to a model that the sandbox answers beside a provider has the effect that the gateway says", async () => {
  const env = { SANDBOX: "on", OPENAI_API_KEY: key, OPENAI_BASE_URL: upstream.baseUrl };
  const home = mkdtempSync(join(tmpdir(), "modelgate-reroute-"));
  const other = await startGateway({ env, home });
  const runThere = (...args: string[]) => runAt(home, args);
  const listEffects = async () => (await runThere("reroute", "list")).stdout;
  const reroute = ["--subject", "model", "--name", "gpt-4.1-mini", "--to-model", "claude-haiku-4-5"];
  expect((await runThere("reroute", "create", ...reroute, "--until", "2h")).stderr).toBe("");
  await until(async () => /claude-haiku-4-5-\d+ .* yes$/m.test(await listEffects()));
  expect(await listEffects()).not.toContain("famC");
  const { stdout } = await runThere("provider", "incident", "openai");
  expect(stdout).toMatch(/gpt-4\.1-mini +answered by claude-haiku-4-5-\d+ +until \S+$/m);
  await other.stop();
  expect(await listEffects()).toMatch(/claude-haiku-4-5-\d+ .* not known$/m);
  rmSync(home, { recursive: true });
});

test("a rule says whether the gateway that runs has the file of its policy, and without one that it is not known", async () => {
  const home = mkdtempSync(join(tmpdir(), "modelgate-policy-"));
  const other = await startGateway({ env: { SANDBOX: "on" }, home });
  const runThere = (...args: string[]) => runAt(home, args);
  const list = async () => (await runThere("policy", "list")).stdout;
  const made = await runThere("policy", "create", "--policy", "calm", "--order", "1", "--on-failure", "open", "--json");
  expect(JSON.parse(made.stdout)).toMatchObject({ policy: "calm", is_loaded: false });
  expect(await list()).toMatch(/ calm .* no$/m);
  const code = `import { definePolicy } from "modelgate/plugin";
    export default definePolicy({ name: "calm", version: "1", request: () => ({ result: "allow" }) });`;
  writeFileSync(join(home, "plugins", "calm.ts"), code);
  await until(async () => / calm .* yes$/m.test(await list()));
  await other.stop();
  expect(await list()).toMatch(/ calm .* not known$/m);
  rmSync(home, { recursive: true });
});

test("a command in another shell ends the pause of a provider that works again", async () => {
  upstream.answer.status = 500;
  await until(async () => (await ask()).status === 503);
  upstream.answer.status = 200;
  expect((await run("provider", "resume", "nobody")).code).toBe(3);
  expect((await run("provider", "resume", "openai", "--model", "gpt-none")).code).not.toBe(0);
  const { stdout, code } = await run("provider", "resume", "openai");
  expect([code, stdout]).toEqual([0, "The routes of openai are in use again\n"]);
  await until(async () => (await ask()).status === 200);
});
