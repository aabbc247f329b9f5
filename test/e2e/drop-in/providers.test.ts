import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { startProvider } from "../../support/chat-provider.ts";
import { commandLine, type Gateway, startGateway } from "../../support/gateway.ts";
import { until } from "../../support/until.ts";

const [first, second] = ["provider-key-first-0001", "provider-key-second-0002"];
const upstream = startProvider(first, second);
let gateway: Gateway;

beforeAll(async () => {
  gateway = await startGateway({ env: { SANDBOX: "" } });
});
afterAll(async () => {
  upstream.stop();
  const said = gateway.stdout() + gateway.stderr();
  await gateway.stop();
  expect(said).not.toContain(first);
});

/** Runs a command that reads the key from standard input. */
async function setKey(key: string, ...flags: string[]): Promise<string> {
  const child = Bun.spawn([...commandLine(), "provider", "key", "set", "acme", ...flags, "--json"], {
    env: { PATH: process.env.PATH ?? "", HOME: gateway.home, MODELGATE_HOME: gateway.home },
    stdin: new Blob([`${key}\n`]),
    stdout: "pipe",
    stderr: "pipe",
  });
  const [text, complaint] = [await new Response(child.stdout).text(), await new Response(child.stderr).text()];
  if ((await child.exited) !== 0) throw new Error(complaint);
  expect(text + complaint).not.toContain(key);
  return (JSON.parse(text) as { id: string }).id;
}

const call = () =>
  gateway.post("/chat/completions", { model: "acme/chat", messages: [{ role: "user", content: "Hi" }] });

test("commands add a provider, rotate its key and disable it while it is called, and no call is lost", async () => {
  const file = join(gateway.home, "acme.json");
  const models = [{ id: "acme/chat", premium: false }];
  writeFileSync(file, JSON.stringify({ baseUrl: upstream.baseUrl, dialect: "openai", models }));
  await gateway.cli("provider", "add", file);
  const id = await setKey(first);
  await until(() => gateway.stderr().includes("sandbox_ended"));
  await until(async () => (await call()).ok);
  expect(await gateway.cli("provider", "test", "acme")).toMatchObject({ ok: true, error: null });

  upstream.answer.delayMs = 20;
  const statuses: string[] = [];
  let isCalling = true;
  const callers = Array.from({ length: 4 }, async () => {
    while (isCalling) {
      const response = await call();
      const body = (await response.json()) as { error?: { code: string } };
      statuses.push(`${response.status} ${body.error?.code ?? ""}`.trim());
    }
  });
  await setKey(second, "--replace", id);
  await until(() => upstream.asked.at(-1) === second);
  upstream.known.delete(first);
  await gateway.cli("provider", "set", "acme", "--enabled", "no");
  await until(() => statuses.at(-1) === "400 model_not_found");
  await gateway.cli("provider", "set", "acme", "--enabled", "yes");
  await until(() => statuses.at(-1) === "200");
  isCalling = false;
  await Promise.all(callers);
  expect(new Set(statuses)).toEqual(new Set(["200", "400 model_not_found"]));

  const [acme] = (await gateway.cli<{ name: string; keys: object[] }[]>("provider", "list")).filter(
    ({ name }) => name === "acme",
  );
  expect(acme?.keys).toMatchObject([{ id, last4: "0002", set_by: "cli" }]);
  const refused = await gateway.run("provider", "set", "unknown", "--enabled", "no");
  expect([refused.code, refused.stderr]).toEqual([3, "No provider is called 'unknown'\n"]);
  await gateway.cli("provider", "remove", "acme");
  await until(async () => (await call()).status === 400);
});
