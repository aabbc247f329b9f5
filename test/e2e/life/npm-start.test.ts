import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "../../support/free-port.ts";
import { until } from "../../support/until.ts";

const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test("SIGTERM to `npm start` ends the gateway in an orderly way", async () => {
  const npm = Bun.spawn(["npm", "start"], {
    cwd: join(import.meta.dir, "../../.."),
    env: { PATH: process.env.PATH ?? "", HOME: home, MODELGATE_HOME: home, PORT: String(await freePort()) },
    stdout: "pipe",
    stderr: "ignore",
  });
  let said = "";
  const end = (async () => {
    const decoder = new TextDecoder();
    for await (const piece of npm.stdout) said += decoder.decode(piece, { stream: true });
  })();
  await until(() => said.includes("Base URL"));
  const stateFile = join(home, "plugins.state.json");
  const { pid } = JSON.parse(readFileSync(stateFile, "utf8")) as { pid: number };
  expect(isRunning(pid)).toBe(true);
  try {
    npm.kill("SIGTERM");
    await npm.exited;
    await until(() => !isRunning(pid));
    await end;
    expect(existsSync(stateFile)).toBe(false);
  } finally {
    if (isRunning(pid)) process.kill(pid, "SIGKILL");
  }
});
