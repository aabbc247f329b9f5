import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { PluginState } from "../../../src/providers/index.ts";
import { type Bench, makeBench } from "./fixture.ts";

let bench: Bench;
let more: string;
beforeEach(() => {
  bench = makeBench();
  more = join(bench.home, "more");
  for (const folder of ["plugins", "more"]) mkdirSync(join(bench.home, folder));
  const manifest = { baseUrl: "http://127.0.0.1:9", dialect: "openai", models: [{ id: "mine-1", premium: false }] };
  writeFileSync(join(bench.home, "plugins/mine.json"), JSON.stringify(manifest));
  writeFileSync(
    join(more, "free.json"),
    JSON.stringify({ ...manifest, credential: "none", models: [{ id: "free-1", premium: false }] }),
  );
  writeFileSync(join(bench.home, "plugins/broken.json"), "{");
});
afterEach(() => bench.remove());

describe("plugin list without a server", () => {
  test("tells what one would serve, from both folders, and why not the rest", async () => {
    const env = { MODELGATE_HOME: bench.home, PLUGINS_DIR: more, MINE_API_KEY: "a,b" };
    const states = await makeBench({ env }).json<PluginState[]>("plugin", "list");
    expect(states.map(({ name, origin, status, routes, keys }) => [name, origin, status, routes, keys])).toEqual([
      ["acme", "built in", "no_credential", 0, 0],
      ["free", "PLUGINS_DIR/free.json", "serving", 1, 0],
      ["mine", "plugins/mine.json", "serving", 1, 2],
      ["broken", "plugins/broken.json", "refused", 0, 0],
    ]);
    const { stdout } = await makeBench({ env }).run("plugin", "list");
    expect(stdout).toContain("Cannot load plugins/broken.json: line 1, column 2: the end of the file was not expected");
    expect(stdout).toEndWith("No gateway runs in this home folder; this is the state after a start\n");
  });

  test("sends no key of the environment to a provider that an administrator added, as no other command does", async () => {
    const asked: (string | null)[] = [];
    const server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      fetch: ({ headers }) => {
        asked.push(headers.get("authorization"));
        return Response.json({ data: [{ id: "added/one" }] });
      },
    });
    const price = { inputToken: { usd: "1", per: 1 }, outputToken: { usd: "1", per: 1 } };
    const unlisted = { premium: true, price };
    const manifest = { baseUrl: `http://127.0.0.1:${server.port}`, dialect: "openai", credential: "none", unlisted };
    const file = join(bench.home, "added.json");
    writeFileSync(file, JSON.stringify(manifest));
    const env = { MODELGATE_HOME: bench.home, ADDED_API_KEY: "of-another-tool" };
    const { run } = makeBench({ env });
    const commands = [
      ["provider", "add", file],
      ["plugin", "list"],
      ["models"],
      ["config"],
      ["catalogue", "check"],
      ["account", "create", "--email", "ada@example.org"],
      ["key", "create", "--account", "ada@example.org", "--name", "k", "--models", "added/one"],
    ];
    for (const command of commands) {
      const { code, stdout } = await run(...command);
      expect([command, code]).toEqual([command, 0]);
      if (command[0] === "provider") expect(stdout).toBe("added is added; it needs no key\n");
    }
    await server.stop(true);
    expect(asked.length).toBeGreaterThan(0);
    expect(asked.every((authorization) => authorization === null)).toBe(true);
  });

  test("does not believe a server that was killed", async () => {
    writeFileSync(join(bench.home, "plugins.state.json"), JSON.stringify({ pid: 2 ** 30, plugins: [] }));
    expect((await bench.json<PluginState[]>("plugin", "list")).length).toBe(3);
  });

  test("believes one that runs, with what it says of the catalogue", async () => {
    const state = { pid: process.pid, plugins: [], warnings: ["Cannot use catalogue/virtual.json: models[0]"] };
    writeFileSync(join(bench.home, "plugins.state.json"), JSON.stringify(state));
    expect(await bench.json<PluginState[]>("plugin", "list")).toEqual([]);
    expect((await bench.run("plugin", "list")).stdout).toContain("\n  Cannot use catalogue/virtual.json: models[0]\n");
  });

  test("tells what is wrong with the catalogue", async () => {
    mkdirSync(join(bench.home, "catalogue"));
    writeFileSync(join(bench.home, "catalogue/virtual.json"), '[{ "id": "fast", "models": ["mine-2"] }]');
    expect((await bench.run("plugin", "list")).stdout).toContain(
      "  Cannot use catalogue/virtual.json: models[0] (fast): models[0] 'mine-2' is not a model here, did you mean mine-1?",
    );
  });
});

test("models and config know the plugins that were dropped in", async () => {
  expect((await bench.run("models")).stdout).toMatch(/^mine-1 +chat/m);
  expect((await bench.run("config")).stdout).toContain("MINE_API_KEY");
});
