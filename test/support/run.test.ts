import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { binaryVariable } from "./binary.ts";
import { cpuVariable } from "./cpu-account.ts";
import { until } from "./until.ts";

const project = mkdtempSync(join(tmpdir(), "modelgate-run-"));
const runner = join(import.meta.dir, "../run.ts");
const failedTests = join(import.meta.dir, "../../.ci/failed-tests");

function write(path: string, text: string) {
  mkdirSync(join(project, path, ".."), { recursive: true });
  writeFileSync(join(project, path), `import { describe, expect, test } from "bun:test";\n${text}`);
}

function start(...given: string[]) {
  const child = Bun.spawn([process.execPath, runner, ...given], {
    cwd: project,
    env: { ...process.env, [binaryVariable]: "", [cpuVariable]: undefined },
    stdio: ["ignore", "pipe", "pipe"],
  });
  const text = Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text()]);
  return { child, end: async () => ({ code: await child.exited, text: (await text).join("") }) };
}

const run = (...given: string[]) => start(...given).end();

function readFailedTests(report: string): string {
  return Bun.spawnSync([failedTests], { stdin: Buffer.from(report) }).stdout.toString();
}

beforeAll(() => {
  write(
    "test/unit/good.test.ts",
    `for (const n of [1, 2]) test("passes " + n, () => console.log("There is no Redis here"));
     test.skip("is left out, as there is no Redis", () => {});`,
  );
  write("test/unit/more.test.ts", `console.log("There is no Redis here"); test("passes too", () => {});`);
  write(
    "test/e2e/bad.test.ts",
    `describe("a group", () => test("with a\\n  difference", () => expect({ a: [1, 2] }).toEqual({ a: [1, 3] })));`,
  );
  write("test/e2e/crash.test.ts", `test("ends its worker", () => process.exit(3));`);
  write("test/e2e/unloadable.test.ts", `import "./absent.ts";`);
  write("test/e2e/endless.test.ts", `test("spins", async () => { await Bun.write("spinning", ""); for (;;); });`);
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

test("a run tells on request what CPU each file took, with the programs that it started, the dearest first", async () => {
  const spin = "while (process.cpuUsage().user < 600_000) for (let n = 0; n < 1e7; n++);";
  const preload = join(import.meta.dir, "limit.ts");
  writeFileSync(join(project, "bunfig.toml"), `[test]\npreload = [${JSON.stringify(preload)}]\n`);
  write("test/soak/dear.test.ts", `test("starts", () => void Bun.spawnSync([process.execPath, "-e", "${spin}"]));`);
  const { code, text } = await run("all", "--cpu", "test/unit", "test/soak");
  rmSync(join(project, "test/soak"), { recursive: true });
  rmSync(join(project, "bunfig.toml"));
  expect(code).toBe(0);
  const [, seconds] = /^Seconds of CPU:\n([\d.]+) test\/soak\/dear\.test\.ts\n/m.exec(text) ?? [];
  expect(Number(seconds)).toBeGreaterThan(0.5);
  expect(text).toMatch(/^[\d.]+ test\/unit\/good\.test\.ts$/m);
});

test("a green run prints what tests print once, what is skipped and the counts, and no test that passed", async () => {
  const { code, text } = await run("quick");
  expect(code).toBe(0);
  expect(text.match(/There is no Redis here/g)).toHaveLength(1);
  expect(text).toContain("  test/unit/good.test.ts: is left out, as there is no Redis\n");
  expect(text).toMatch(/^ 3 pass\n 1 skip\n 0 fail$/m);
  expect(text).not.toContain("passes");
  expect(readFailedTests(text)).toBe("");
});

test("a run of every test names each failure with its error, also of a worker that crashed or a file that cannot be loaded", async () => {
  const { code, text } = await run("all", "good", "bad", "crash", "unloadable");
  expect(code).toBe(1);
  expect(text).toMatch(/^ 2 pass$/m);
  const failures = text.slice(text.indexOf("3 failed:"));
  expect(failures).toMatch(/^\(fail\) test\/e2e\/bad\.test\.ts(:2)? a group > with a difference$/m);
  expect(failures).toContain("\n    -     3,\n    +     2,\n");
  expect(failures).toContain("(fail) test/e2e/crash.test.ts (worker crashed)\n");
  expect(failures).toMatch(/\(fail\) an error outside of the tests\n.*absent\.ts/);
  const shown = readFailedTests(text);
  expect(shown).toStartWith("(fail) test/e2e/bad.test.ts");
  expect(shown.match(/^\(fail\)/gm)).toHaveLength(3);
});

test("a run that is ended names the file that was still running, with its counts so far", async () => {
  const { child, end } = start("all", "good", "endless");
  const ended = end();
  await until(() => existsSync(join(project, "spinning")));
  child.kill("SIGTERM");
  const { code, text } = await ended;
  expect(code).not.toBe(0);
  expect(text).toMatch(/^\(fail\) test\/e2e\/endless\.test\.ts \(\d+s\) was running when the run was ended$/m);
  expect(text).toMatch(/^ \d pass$/m);
  expect(readFailedTests(text)).toContain("endless.test.ts");
});

test("a path, a word or a name narrows a run", async () => {
  expect((await run("quick", "test/unit/more.test.ts")).text).toMatch(/^ 1 pass$/m);
  expect((await run("quick", "more")).text).toMatch(/^ 1 pass$/m);
  expect((await run("all", "test/unit")).text).toMatch(/^ 3 pass$/m);
  expect((await run("quick", "-t", "passes 2")).text).toMatch(/^ 1 pass$/m);
  const outside = await run("quick", "crash");
  expect(outside).toMatchObject({ code: 1, text: "No test file is or contains: crash\n" });
});
