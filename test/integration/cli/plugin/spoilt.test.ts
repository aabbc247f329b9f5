import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { checkPlugin } from "../../../../src/cli/plugin-check/check-plugin.ts";
import { readFixtures } from "../../../../src/cli/plugin-check/fixture.ts";
import { createPluginFiles } from "../../../../src/cli/plugin-new/plugin-files.ts";
import { loadPluginAt } from "../../../../src/cli/plugin-source.ts";

describe("a plugin", () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), "modelgate-spoilt-"));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  /** The rows a translated plugin loses when a line of it is changed. */
  async function lostBy(name: string, from: string, to: string): Promise<string[]> {
    for (const [file, text] of await createPluginFiles(name, "translated")) {
      const path = join(folder, name, file);
      mkdirSync(dirname(path), { recursive: true });
      if (file === "index.ts") expect(text).toContain(from);
      writeFileSync(path, file === "index.ts" ? text.replace(from, to) : text);
    }
    const { plugin, entry } = await loadPluginAt(join(folder, name));
    const lost = (await checkPlugin(plugin, readFixtures(entry))).filter(({ ok }) => !ok);
    for (const { wrong, fix } of lost) expect([typeof wrong, typeof fix]).toEqual(["string", "string"]);
    return lost.map(({ check }) => check);
  }

  test("as it is written loses nothing", async () => {
    expect(await lostBy("good", "chat", "chat")).toEqual([]);
  });

  const end = 'throw new UpstreamError("bad_response", "The provider\'s stream ended before its answer did");';
  const check = "if (!isRecord(answer) || !isRecord(answer.message)) throw classifyError(answer);";
  test.each([
    ["makes-usage-up", "return {};", "return { usage: { prompt_tokens: 1, completion_tokens: 1 } };", "not free"],
    ["ends-what-broke", end, 'return [{ choices: [{ index: 0, delta: {}, finish_reason: "stop" }] }];', "breaks off"],
    ["trusts-anything", check, "", "invalid answers"],
    [
      "forgets-its-key",
      // biome-ignore lint/suspicious/noTemplateCurlyInString: it is a line of the file
      "authorize: (_, { key }) => ({ authorization: `Bearer ${key}` })",
      "authorize: () => ({})",
      "the key is sent",
    ],
    [
      "knows-no-tools",
      'if (role === "tool") return',
      'if (role === "tool") throw new TypeError("none"); if (role === "tool") return',
      "conversation",
    ],
    ["hides-results", "{ role, tool_call_id, content: text }", '{ role: "user", content: text }', "conversation"],
    ["mixes-up-reasons", 'return "stop"', 'return "length"', "a question is answered"],
    [
      "shows-its-key",
      "maxChoices: { chat: 1 },",
      'readError: ({ body }) => new UpstreamError("bad_response", body),',
      "refusals",
    ],
    ["asks-elsewhere", 'json("/chat"', 'json("/produce"', "a question is answered"],
  ])("that %s loses the row for it", async (name, from, to, row) => {
    const lost = await lostBy(name, from, to);

    expect(lost.join("; ")).toContain(row);
  });
});
