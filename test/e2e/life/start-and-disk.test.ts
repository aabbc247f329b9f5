import { afterAll, describe, expect, spyOn, test } from "bun:test";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expectError } from "../../support/expect-error.ts";
import { commandLine } from "../../support/gateway.ts";
import { startInProcess } from "../../support/in-process.ts";
import { bootstrapKey as key, serveProcess } from "../../support/serve-process.ts";
import { until } from "../../support/until.ts";

const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

/** Runs `serve` on a home, with files of this many kilobytes at the most: what a full disk is like. */
function serveOn(home: string, fileKilobytesMax?: number) {
  const limits = fileKilobytesMax === undefined ? "" : `ulimit -f ${fileKilobytesMax}; `;
  const prefix = ["bash", "-c", `${limits}exec "$@"`, "bash"];
  const wide = { REQUESTS_PER_MINUTE: "1000000", TOKENS_PER_MINUTE: "1000000000" };
  return serveProcess(prefix, { HOME: folder, MODELGATE_HOME: home, ...wide });
}

async function refusedOn(home: string, fileKilobytesMax?: number) {
  const { child, complaint } = serveOn(home, fileKilobytesMax);
  return { code: await child.exited, stderr: await complaint };
}

describe("a start", () => {
  test.skipIf(!existsSync("/proc/self"))("on a folder that cannot be written to says so", async () => {
    expect(await refusedOn("/proc/self")).toEqual({
      code: 2,
      stderr: "Cannot use MODELGATE_HOME: it is /proc/self (ENOENT), expected a writable folder\n",
    });
  });

  test("on a full disk says so, and the next one with room serves", async () => {
    const home = join(folder, "full");
    const { code, stderr } = await refusedOn(home, 64);
    expect(stderr).toMatch(/^Cannot open the database \S+modelgate\.db: .+; see that its disk has room\n$/);
    expect(code).toBe(5);
    const { child, said } = serveOn(home);
    await until(() => said().includes("Base URL"));
    child.kill("SIGTERM");
    expect(await child.exited).toBe(0);
  });
});

test("a disk that fills up refuses calls with 503 and retry-after; what was answered stays in the ledger", async () => {
  const home = join(folder, "filling");
  // The first start makes the tables; then there is room for some hundred calls.
  const first = serveOn(home);
  await until(() => first.said().includes("Base URL"));
  first.child.kill("SIGTERM");
  expect(await first.child.exited).toBe(0);
  const { child, said, complaint } = serveOn(home, 320);
  await until(() => said().includes("Base URL"));
  const origin = /http:\/\/127\.0\.0\.1:\d+/.exec(said())?.[0] as string;
  const messages = [{ role: "user", content: "Hello" }];
  const ask = () =>
    fetch(`${origin}/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}` },
      body: JSON.stringify({ model: "famA-4.1-nano", messages }),
    });
  let answered = 0;
  let refused: Response | undefined;
  for (let tries = 0; refused === undefined && tries < 5000; tries += 50) {
    const responses = await Promise.all(Array.from({ length: 50 }, ask));
    answered += responses.filter(({ status }) => status === 200).length;
    refused = responses.find(({ status }) => status !== 200);
  }
  expect(answered).toBeGreaterThan(0);
  expect(refused?.headers.get("retry-after")).toBe("1");
  await expectError(refused as Response, { status: 503, code: "unavailable" });
  expect((await fetch(`${origin}/healthz`)).status).toBe(200);
  child.kill("SIGKILL");
  await child.exited;
  await complaint;
  const verify = Bun.spawn([...commandLine(), "ledger", "verify", "--json"], {
    env: { PATH: process.env.PATH ?? "", HOME: folder, MODELGATE_HOME: home },
    stdout: "pipe",
    stderr: "inherit",
  });
  const { ok, counts } = JSON.parse(await new Response(verify.stdout).text());
  expect(ok).toBe(true);
  expect(counts.calls).toBeGreaterThanOrEqual(answered);
});

test("a gateway that is prepared writes its description for no request, not even the first", async () => {
  const { app, baseUrl, stop } = await startInProcess({ env: { SANDBOX: "on" } });
  try {
    await app.prepare();
    const stringify = spyOn(JSON, "stringify");
    const response = await fetch(new URL("/openapi.json", baseUrl));
    const size = (await response.bytes()).length;
    const longest = Math.max(0, ...stringify.mock.results.map(({ value }) => String(value).length));
    stringify.mockRestore();
    expect([response.status, size > 100_000]).toEqual([200, true]);
    expect(longest).toBeLessThan(10_000);
  } finally {
    await stop();
  }
});
