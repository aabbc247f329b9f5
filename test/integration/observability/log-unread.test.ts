import { expect, test } from "bun:test";
import { closeSync, constants, mkdtempSync, openSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "../../support/gateway.ts";

const key = "sk-mg-e2etest1-0123456789abcdef0123456789abcdef";

if (process.platform === "win32") console.warn("A log that nobody reads is not tried: there is no mkfifo here");

test.skipIf(process.platform === "win32")("a log that nobody reads blocks neither calls nor shutdown", async () => {
  const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  const pipe = join(home, "stderr");
  Bun.spawnSync(["mkfifo", pipe]);
  // Open for both, so that the pipe stands and takes its 64 kB, and nobody takes them out.
  const stderr = openSync(pipe, constants.O_RDWR);
  const wide = { REQUESTS_PER_MINUTE: "1000000", TOKENS_PER_MINUTE: "1000000000", FREE_TOKENS_PER_DAY: "1000000000" };
  const own = { HOME: home, MODELGATE_HOME: home, PORT: "0", MODELGATE_BOOTSTRAP_KEY: key };
  const env = { PATH: process.env.PATH ?? "", ...own, ...wide };
  const child = Bun.spawn([...commandLine(), "serve"], { cwd: home, env, stdout: "pipe", stderr });
  try {
    const address = await baseUrlIn(child.stdout);
    const body = JSON.stringify({ model: "gpt-4.1-nano", messages: [{ role: "user", content: "Say hello" }] });
    const init = {
      method: "POST",
      body,
      headers: { authorization: `Bearer ${key}`, "x-request-id": "x".repeat(128) },
    };
    // Some 120 kB of lines: twice what the pipe takes.
    for (let round = 0; round < 15; round++) {
      const calls = Array.from({ length: 16 }, () => fetch(`${address}/chat/completions`, init));
      for (const response of await Promise.all(calls)) expect(response.status).toBe(200);
    }
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  } finally {
    child.kill("SIGKILL");
    closeSync(stderr);
    rmSync(home, { recursive: true, force: true });
  }
});

async function baseUrlIn(stdout: ReadableStream<Uint8Array>): Promise<string> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const piece of stdout) {
    text += decoder.decode(piece, { stream: true });
    const [, address] = /Base URL +(http:\S+)/.exec(text) ?? [];
    if (address !== undefined) return address;
  }
  throw new Error(`The gateway ended at its start: ${text}`);
}
