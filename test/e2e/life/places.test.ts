import { afterAll, describe, expect, test } from "bun:test";
import {
  chmodSync,
  chownSync,
  constants,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
} from "node:fs";
import { networkInterfaces, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { commandLine } from "../../support/gateway.ts";
import { bootstrapKey as key, serveProcess } from "../../support/serve-process.ts";
import { until } from "../../support/until.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
const nobody = 65_534;

function serve(prefix: readonly string[], env: Record<string, string>) {
  return serveProcess(prefix, { HOME: folder, ...env }, folder);
}

async function ask(origin: string): Promise<number> {
  const response = await fetch(`${origin}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
    body: JSON.stringify({ model: "famA-4.1-nano", messages: [{ role: "user", content: "Hello" }] }),
  });
  await response.text();
  return response.status;
}

const hasIpv6 = Object.values(networkInterfaces()).some((all) => all?.some(({ address }) => address === "::1"));

test("a gateway that has IPv6 alone listens on it, asks a provider on it, and answers", async () => {
  if (!hasIpv6) return console.log("Not run: this machine has no IPv6");
  const provider = Bun.serve({ hostname: "::1", port: 0, fetch: () => Response.json(answer) });
  const { child, said } = serve([], {
    MODELGATE_HOME: join(folder, "ipv6"),
    HOST: "::1",
    OPENAI_API_KEY: "sk-upstream",
    OPENAI_BASE_URL: `http://[::1]:${provider.port}/v1`,
  });
  await until(() => said().includes("Base URL"));
  const origin = /http:\/\/\[::1\]:\d+/.exec(said())?.[0];
  expect(origin).toBeDefined();
  expect(await ask(origin as string)).toBe(200);
  child.kill("SIGTERM");
  expect(await child.exited).toBe(0);
  await provider.stop(true);
});

const answer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "famA-4.1-nano",
  choices: [{ index: 0, message: { role: "assistant", content: "Hello" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
};

/** Why no process of another user can be started here; `undefined` if one can. */
function whyNoOtherUser(): string | undefined {
  if (process.getuid?.() !== 0) return "only root starts a process of another user";
  if (Bun.which("setpriv") === null) return "setpriv is not installed";
  const [program] = commandLine() as [string];
  const isOpen = (path: string) => (statSync(path).mode & constants.S_IXOTH) !== 0;
  for (let path = program; path !== "/"; path = dirname(path)) if (!isOpen(path)) return `others may not open ${path}`;
  return commandLine().length === 1
    ? undefined
    : "a source tree may be closed to others; MODELGATE_BINARY names a binary";
}

describe("a gateway of a user without rights", () => {
  const prefix = ["setpriv", "--reuid", String(nobody), "--regid", String(nobody), "--clear-groups"];
  const reason = whyNoOtherUser();

  test("serves, and its home is its own alone", async () => {
    if (reason !== undefined) return console.log(`Not run: ${reason}`);
    chmodSync(folder, 0o711);
    const home = join(folder, "unprivileged");
    mkdirSync(home);
    chownSync(home, nobody, nobody);
    const { child, said } = serve(prefix, { MODELGATE_HOME: home, SANDBOX: "on" });
    await until(() => said().includes("Base URL"));
    const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(said())?.[0] as string;
    expect(await ask(origin)).toBe(200);
    const files = readdirSync(home).filter((name) => statSync(join(home, name)).isFile());
    expect(files).toContain("modelgate.db");
    for (const name of files) {
      const { uid, mode } = statSync(join(home, name));
      expect([name, uid, mode & 0o077]).toEqual([name, nobody, 0]);
    }
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  });

  test("that the system does not know serves from MODELGATE_HOME, and says so where that is not set", async () => {
    if (reason !== undefined) return console.log(`Not run: ${reason}`);
    const unknown = 1_234_567_890;
    expect(readFileSync("/etc/passwd", "utf8")).not.toContain(`:${unknown}:`);
    const asUnknown = ["setpriv", "--reuid", String(unknown), "--regid", "0", "--clear-groups"];
    const home = join(folder, "unknown");
    mkdirSync(home);
    chownSync(home, nobody, 0);
    chmodSync(home, 0o770);
    const { child, said } = serveProcess(asUnknown, { MODELGATE_HOME: home, SANDBOX: "on" }, folder);
    await until(() => said().includes("Base URL"));
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
    const homeless = serveProcess(asUnknown, {}, folder);
    expect([await homeless.child.exited, await homeless.complaint]).toEqual([
      2,
      "Cannot use MODELGATE_HOME: it is not set, and this user has no home folder, expected a folder\n",
    ]);
  });

  test("says so where it may not write its home", async () => {
    if (reason !== undefined) return console.log(`Not run: ${reason}`);
    const home = join(folder, "closed");
    mkdirSync(home, { mode: 0o755 });
    const { child, complaint } = serve(prefix, { MODELGATE_HOME: home });
    expect(await child.exited).toBe(2);
    expect(await complaint).toBe(`Cannot use MODELGATE_HOME: it is ${home} (EACCES), expected a writable folder\n`);
  });
});
