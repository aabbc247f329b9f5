import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { commandLine } from "../../../support/gateway.ts";

const root = join(import.meta.dir, "../../../..");
const secondsMax = 240_000;

describe("a new plugin", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "modelgate-author-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  async function run(words: string[], cwd = folder) {
    const child = Bun.spawn(words, { cwd, env: { PATH: process.env.PATH ?? "", HOME: folder }, stderr: "pipe" });
    const [stdout, stderr, code] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
      child.exited,
    ]);
    return { code, stdout, stderr };
  }
  const modelgate = (...words: string[]) => run([...commandLine(), "plugin", ...words]);
  const tsc = (name: string) => run([join(root, "node_modules/.bin/tsc"), "-p", "."], join(folder, name));

  test.each([
    ["plain", []],
    ["spoken", ["--dialect", "openai"]],
    ["of-its-own", ["--translated"]],
  ])(
    "%s has full marks and no fault of types, as it is written",
    async (name, flags) => {
      expect(await modelgate("new", name, ...flags)).toMatchObject({ code: 0, stderr: "" });
      const checked = await modelgate("check", name);
      expect(checked.stdout).not.toContain("NOT OK");
      expect(checked).toMatchObject({ code: 0, stderr: "" });
      expect(await tsc(name)).toMatchObject({ code: 0, stdout: "" });
    },
    secondsMax,
  );

  test(
    "that is misspelt is faulted by its types alone",
    async () => {
      const file = join(folder, "plain/index.ts");
      writeFileSync(file, readFileSync(file, "utf8").replace("models:", "modles:"));
      const { code, stdout } = await tsc("plain");
      expect(code).not.toBe(0);
      expect(stdout).toContain("modles");
      const checked = await modelgate("check", "plain");
      expect(checked.code).not.toBe(0);
      expect(checked.stderr).toContain("unknown field modles, did you mean models?");
    },
    secondsMax,
  );

  test.each([
    ["http://api.example.com/v1", 1],
    ["http://127.0.0.1:8000/v1", 0],
    ["http://10.1.2.3/v1", 0],
    ["https://api.example.com/v1", 0],
  ])("at %s is checked for a key in clear text", async (baseUrl, code) => {
    const manifest = { name: "clear", baseUrl, dialect: "openai", models: [{ id: "clear-1", premium: false }] };
    writeFileSync(join(folder, "clear.json"), JSON.stringify(manifest));
    const checked = await modelgate("check", "clear.json");
    expect({
      code: checked.code,
      told: checked.stdout.includes(`the key is sent in clear text to ${baseUrl}`),
    }).toEqual({
      code,
      told: code === 1,
    });
  });

  test.each([
    ["is not written over another", ["new", "of-its-own"], "it already exists", 4],
    ["has a name that can be one", ["new", "Of_Its_Own"], "expected kebab-case", 2],
    ["speaks what is known", ["new", "other", "--dialect", "latin"], "expected openai", 2],
    ["is to be there for a check", ["check", "nowhere"], "There is no nowhere", 2],
    ["has a key to be recorded", ["record", "of-its-own"], "set OF_ITS_OWN_API_KEY", 2],
  ])("%s", async (_, words, sentence, exitCode) => {
    const { code, stderr } = await modelgate(...words);
    expect({ code, told: stderr.includes(sentence) }).toEqual({ code: exitCode, told: true });
  });
});
