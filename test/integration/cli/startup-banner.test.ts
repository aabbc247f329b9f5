import { describe, expect, test } from "bun:test";
import type { App } from "../../../src/app.ts";
import type { Bootstrap } from "../../../src/cli/bootstrap.ts";
import { formatStartupBanner } from "../../../src/cli/startup-banner.ts";
import { readConfig } from "../../../src/config/index.ts";
import { chatModel } from "../../unit/kernel/support.ts";

const firstKey: Bootstrap["key"] = { key: "sk-mg-abcd-secret", given: false };

/** The banner of a gateway that serves these models. */
function formatBanner(
  models: (Partial<typeof chatModel> & { plugin?: string })[],
  { key, warnings = [] }: { key?: Bootstrap["key"]; warnings?: string[] } = {},
): string {
  const modelEntries = models.map(({ plugin, ...model }) => ({
    model: { ...chatModel, ...model },
    compiledPrice: undefined,
    routes: plugin === undefined ? [] : [{ plugin: { name: plugin } }],
  }));
  const kernel = { registry: { modelEntries, size: modelEntries.length } };
  const app = { kernel, sandbox: false, warnings } as unknown as App;
  return formatStartupBanner({
    config: readConfig({}),
    port: 3000,
    metricsPort: undefined,
    key,
    owner: undefined,
    app,
  });
}

test("the line to try names a free chat model that is not retired", () => {
  const banner = formatBanner([
    { id: "retired", premium: false, retiredOn: "2020-01-01" },
    { id: "premium", premium: true },
    { id: "images", premium: false, capability: "images" },
    { id: "current", premium: false, retiredOn: "2999-01-01" },
  ]);
  expect(banner).toContain('"model":"current"');
});

test("beside real providers, the start says how many models are simulated, and tries one that is not", () => {
  const banner = formatBanner([
    { id: "made-up", premium: false, plugin: "sandbox" },
    { id: "real", premium: false, plugin: "acme" },
  ]);
  expect(banner).toMatch(/^ {2}Sandbox +ON: 1 of 2 models without a real provider are simulated, and paid ones are/m);
  expect(banner).toContain('"model":"real"');
  expect(formatBanner([{ id: "real", premium: false, plugin: "acme" }])).not.toContain("Sandbox");
});

test("a retired model is better than none, and without a free one no line is shown", () => {
  expect(formatBanner([{ id: "retired", premium: false, retiredOn: "2020-01-01" }])).toContain('"model":"retired"');
  expect(formatBanner([{ id: "premium", premium: true }])).not.toContain("curl");
});

test("what cannot be served is said, and of many the first and how to see the others", () => {
  expect(formatBanner([], { warnings: ["one", "two"] })).toMatch(/^ {2}Warning +one\n {2}Warning +two\n\n/m);
  const many = formatBanner([], { warnings: ["one", "two", "three", "four", "five"] });
  expect(many).toMatch(/^ {2}Warning +three\n +and 2 more: modelgate plugin list\n\n/m);
});

describe("the line to try, run in a shell,", () => {
  test.each([
    ["of the first start sends the new key", firstKey, "sk-mg-abcd-secret"],
    ["of a later start sends the key in MODELGATE_KEY", undefined, "sk-mg-mine-secret"],
    [
      "of a start with a bootstrap key sends the key in MODELGATE_KEY",
      { ...firstKey, given: true },
      "sk-mg-mine-secret",
    ],
  ])("%s", async (_, key, expected) => {
    const line = /^ {2}curl .*$/m.exec(formatBanner([{ id: "current", premium: false }], { key }))?.[0] ?? "";
    // The shell's own curl prints its arguments.
    const shell = Bun.spawn(["sh", "-c", `curl() { printf '%s\\n' "$@"; }\n${line}`], {
      env: { PATH: process.env.PATH ?? "", MODELGATE_KEY: "sk-mg-mine-secret" },
    });
    expect((await new Response(shell.stdout).text()).trimEnd().split("\n")).toEqual([
      "http://127.0.0.1:3000/api/v1/chat/completions",
      "-H",
      `Authorization: Bearer ${expected}`,
      "-H",
      "Content-Type: application/json",
      "-d",
      JSON.stringify({ model: "current", messages: [{ role: "user", content: "Say hello" }] }),
    ]);
    expect(await shell.exited).toBe(0);
  });
});
