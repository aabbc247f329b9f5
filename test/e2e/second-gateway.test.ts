import { expect, test } from "bun:test";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine, startGateway } from "../support/gateway.ts";

/** Starts a gateway on a home that another may have; it is expected to end by itself. */
async function serveOn(home: string) {
  const env = { PATH: process.env.PATH ?? "", HOME: home, MODELGATE_HOME: home, PORT: "0", LOG_LEVEL: "warn" };
  const child = Bun.spawn([...commandLine(), "serve"], { env, stdout: "ignore", stderr: "pipe", timeout: 120_000 });
  const [stderr, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  return { code, stderr };
}

test("a second gateway on the same home, by whatever path, is refused, the first goes on, and the next can have it", async () => {
  const home = mkdtempSync(join(tmpdir(), "modelgate-test-"));
  const first = await startGateway({ home });
  const link = `${home}-link`;
  symlinkSync(home, link);
  for (const path of [home, link]) {
    expect(await serveOn(path)).toEqual({
      code: 1,
      stderr: `Cannot serve from ${path}: another gateway does; stop it, or set MODELGATE_HOME to another folder\n`,
    });
  }
  rmSync(link);
  expect((await first.ask("/models")).status).toBe(200);
  process.kill(first.pid, "SIGKILL");
  await first.stop();
  const next = await startGateway({ home });
  expect((await next.ask("/models")).status).toBe(200);
  await next.stop();
  rmSync(home, { recursive: true });
});
