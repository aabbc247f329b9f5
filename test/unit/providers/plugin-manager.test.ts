import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import type { Model } from "../../../src/provider/index.ts";
import type { PluginSnapshot } from "../../../src/providers/plugin-manager.ts";
import { caller } from "../kernel/support.ts";
import { builtIn, code, type Home, makeHome, manifest, stockOf } from "./folder.ts";

let home: Home;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.clear());

const modelsOf = ({ registry }: PluginSnapshot) => [...registry.modelEntries].map(({ model }) => model.id).sort();
const standingOf = ({ states }: PluginSnapshot, name: string) => states.find((state) => state.name === name)?.status;

describe("what lies in the plugin folder", () => {
  test("is served: a manifest, a file of code, a folder with files beside it", async () => {
    home.write("plugins/acme.json", manifest());
    home.write("plugins/single.ts", code("single"));
    home.write("plugins/plain.js", code("plain"));
    home.write(
      "plugins/wide/index.ts",
      `import { models } from "./rows.ts";\n${code("wide").replace("[row]", "models")}`,
    );
    home.write("plugins/wide/rows.ts", 'import rows from "./rows.json";\nexport const models = rows.models;\n');
    const rows = ["a", "b"].map((id) => ({
      id,
      upstreamId: id,
      capability: "chat",
      premium: false,
      ownedBy: "w",
      created: 0,
    }));
    home.write("plugins/wide/rows.json", { models: rows });
    home.write("plugins/folded/index.json", manifest({ models: [{ id: "folded-1", premium: false }] }));
    const snapshot = await stockOf(home).pluginManager.load();
    expect(snapshot.warnings).toEqual([]);
    expect(modelsOf(snapshot)).toEqual(["a", "acme-1", "b", "folded-1", "plain-1", "single-1"]);
  });

  test("may use the platform's modules that only compute", async () => {
    const text =
      'import { createHash } from "node:crypto";\nexport const id = createHash("sha256").update("a").digest("hex");';
    home.write("plugins/hashed/id.ts", text);
    home.write("plugins/hashed/index.ts", `import { id } from "./id.ts";\n${code("hashed").replace('"x"', "id")}`);
    const { registry } = await stockOf(home).pluginManager.load();
    expect(registry.byName("hashed-1")?.model.ownedBy).toStartWith("ca978112");
  });

  test("is taken up and put away while it runs, and an older registry stays as it was", async () => {
    const { pluginManager } = stockOf(home);
    const before = await pluginManager.load();
    home.write("plugins/acme.json", manifest());
    const during = await pluginManager.load();
    home.remove("plugins/acme.json");
    const after = await pluginManager.load();
    expect([before, during, after].map(modelsOf)).toEqual([[], ["acme-1"], []]);
  });

  test("is really the new one when it, or a file beside it, has changed", async () => {
    home.write(
      "plugins/acme/index.ts",
      `import { model } from "./model.ts";\n${code("acme").replaceAll('"acme-1"', "model")}`,
    );
    const { pluginManager } = stockOf(home);
    for (let version = 0; version < 3; version++) {
      home.write("plugins/acme/model.ts", `export const model = "version-${version}";\n`);
      expect(modelsOf(await pluginManager.load())).toEqual([`version-${version}`]);
    }
  });

  test("keeps its plugin object, keys and circuits when nothing has changed", async () => {
    home.write("plugins/acme.json", manifest());
    const { pluginManager } = stockOf(home);
    const [first] = (await pluginManager.load()).registry.byName("acme-1")?.routes ?? [];
    home.write("plugins/other.json", manifest({ models: [{ id: "other-1", premium: false }] }));
    const [second] = (await pluginManager.load()).registry.byName("acme-1")?.routes ?? [];
    expect(second?.plugin).toBe(first?.plugin as never);
    expect(second?.keys).toBe(first?.keys as never);
  });

  test("has a version that its files make, and no other", async () => {
    home.write("plugins/wide/index.ts", code("wide"));
    const { pluginManager } = stockOf(home);
    const versions: unknown[] = [];
    for (const text of ["1", "2", "1"]) {
      home.write("plugins/wide/beside.txt", text);
      versions.push((await pluginManager.load()).states[0]?.version);
    }
    expect(versions[0]).toMatch(/^[0-9a-f]{8}$/);
    expect(versions).toEqual([versions[0], expect.not.stringMatching(versions[0] as string), versions[0]]);
  });

  test("is loaded again only when its stamp differs", async () => {
    home.write("plugins/acme.json", manifest());
    const { pluginManager } = stockOf(home);
    const empty = pluginManager.fingerprint();
    home.write("plugins/acme.json", manifest({ hosts: ["files.example.org"] }));
    const changed = pluginManager.fingerprint();
    expect(changed).not.toBe(empty);
    expect(pluginManager.fingerprint()).toBe(changed);
    home.write("plugins/notes.md", "mine");
    expect(pluginManager.fingerprint()).toBe(changed);
  });
});

describe("a version that cannot be taken in leaves the one before serving:", () => {
  test.each<[string, string | object]>([
    ["it does not load", "{"],
    ["it is sold on other terms", manifest({ models: [{ id: "stock-1", capability: "embeddings", premium: false }] })],
  ])("%s", async (_, worse) => {
    home.write("plugins/acme.json", manifest());
    const { pluginManager, log } = stockOf(home, { builtIns: [builtIn("stock")] });
    await pluginManager.load();
    home.write("plugins/acme.json", worse);
    const snapshot = await pluginManager.load();
    expect(modelsOf(snapshot)).toEqual(["acme-1", "stock-1"]);
    expect(standingOf(snapshot, "acme")).toBe("previous");
    expect(snapshot.warnings).toEqual([expect.stringContaining("Cannot load plugins/acme.json: ")]);
    expect(log.lines.filter(({ event }) => event === "plugin_refused")).toHaveLength(1);
    await pluginManager.load();
    expect(log.lines.filter(({ event }) => event === "plugin_refused")).toHaveLength(1);
    home.write("plugins/acme.json", manifest({ models: [{ id: "acme-2", premium: false }] }));
    const mended = await pluginManager.load();
    expect([modelsOf(mended), mended.warnings]).toEqual([["acme-2", "stock-1"], []]);
  });

  test("a second file of its name does not push out the one that serves", async () => {
    home.write("plugins/acme.ts", code("acme", "acme-1"));
    const { pluginManager } = stockOf(home);
    await pluginManager.load();
    home.write("plugins/acme.json", manifest({ models: [{ id: "newcomer", premium: false }] }));
    const snapshot = await pluginManager.load();
    expect(modelsOf(snapshot)).toEqual(["acme-1"]);
    expect(snapshot.warnings).toEqual([
      "Cannot load plugins/acme.json: the name acme belongs to plugins/acme.ts; rename one of the two",
    ]);
    home.remove("plugins/acme.ts");
    expect(modelsOf(await pluginManager.load())).toEqual(["newcomer"]);
  });
});

describe("the sandbox", () => {
  const createSandbox = (models: readonly Model[]) => ({ ...builtIn("sandbox", models), credential: "none" as const });

  test("answers for all while no plugin has a key, and leaves when one is dropped in", async () => {
    const { pluginManager } = stockOf(home, {
      builtIns: [builtIn("stock")],
      sandbox: { setting: "auto", isLoopback: true, createSandbox },
      readCredentials: () => ({ keys: [] }),
    });
    const alone = await pluginManager.load();
    expect([alone.sandbox, modelsOf(alone), standingOf(alone, "stock")]).toEqual([true, ["stock-1"], "sandbox"]);
    home.write("plugins/acme.json", manifest());
    const real = await pluginManager.load();
    expect([real.sandbox, modelsOf(real), standingOf(real, "stock")]).toEqual([false, ["acme-1"], "no_credential"]);
    home.remove("plugins/acme.json");
    expect((await pluginManager.load()).sandbox).toBe(true);
  });

  test("stays when a file that cannot be loaded is dropped in, and does not begin a start with one", async () => {
    const options = {
      builtIns: [builtIn("stock")],
      sandbox: { setting: "auto" as const, isLoopback: true, createSandbox },
      readCredentials: () => ({ keys: [] }),
    };
    const { pluginManager } = stockOf(home, options);
    await pluginManager.load();
    home.write("plugins/acme.json", "{");
    expect(await pluginManager.load()).toMatchObject({ sandbox: true });
    const started = await stockOf(home, options).pluginManager.load();
    expect(started).toMatchObject({ sandbox: false, isConfigured: true, registry: { size: 0 } });
    expect(started.warnings).toEqual([expect.stringContaining("Cannot load plugins/acme.json")]);
  });

  test("keeps the names of the models that it simulates", async () => {
    const { pluginManager } = stockOf(home, {
      builtIns: [builtIn("stock", [{ aliases: ["known"] }])],
      sandbox: { setting: "on", isLoopback: true, createSandbox },
      readCredentials: () => ({ keys: [] }),
    });
    home.write("plugins/acme.json", manifest({ models: [{ id: "known", premium: false }] }));
    const { registry, warnings } = await pluginManager.load();
    expect([registry.size, registry.byName("known")?.model.id]).toEqual([1, "stock-1"]);
    expect(warnings).toEqual([expect.stringContaining("Cannot load plugins/acme.json: Plugin 'acme' has 'known'")]);
  });
});

test("a row of the operator's with a name of another model is left out, and the built-in plugins stay", async () => {
  const builtIns = [builtIn("first"), builtIn("second", [{ aliases: ["known"] }])];
  const { pluginManager } = stockOf(home, { builtIns });
  home.write("catalogue/first.json", { models: [{ id: "first-1", aliases: ["fine"] }] });
  expect((await pluginManager.load()).registry.byName("fine")?.model.id).toBe("first-1");
  home.write("catalogue/first.json", { models: [{ id: "first-1", aliases: ["fine", "known"] }] });
  const { registry, warnings } = await pluginManager.load();
  const names = ["first-1", "fine", "second-1", "known"].map((name) => registry.byName(name)?.model.id);
  expect(names).toEqual(["first-1", "first-1", "second-1", "second-1"]);
  expect(warnings).toEqual([
    "Cannot use catalogue/first.json: Plugin 'first' has 'known' as an alias of a model, but it is an alias of 'second-1' in the built-in plugin 'second': rename one of the two",
  ]);
});

describe("a model of the catalogue that nothing serves now", () => {
  const builtIns = [
    builtIn("served"),
    builtIn("first-host", [{ id: "code-1", aliases: ["public-1"] }]),
    builtIn("second", [{ id: "code-1", aliases: ["public-1"] }]),
  ];
  const readCredentials = ({ name }: { name: string }) => ({ keys: name === "served" ? ["key"] : [] });
  const keyless = { builtIns, readCredentials };
  const disabled = {
    isEnabled: (name: string) => name === "served",
    hasUnreadableKeys: () => false,
    reorder: <Plugin>(plugin: Plugin) => plugin,
    reroutes: [],
    policyRules: [],
    markups: { gateway: undefined, providers: new Map() },
  };
  const load = async (changes: Parameters<typeof stockOf>[1]) => {
    const { pluginManager, log } = stockOf(home, changes);
    const { registry } = await pluginManager.load();
    const explain = (name: string, by = caller) => {
      const { code, message } = registry.describeUnknown(name, by);
      return `${code}: ${message}`;
    };
    const remedies = () => log.lines.filter(({ event }) => event === "model_not_served").map(({ fields }) => fields);
    return { explain, remedies };
  };

  test("is told from an unknown one with its providers, and the log says once which key is missing", async () => {
    const { explain, remedies } = await load(keyless);
    const known =
      "model_not_found: The model 'public-1' exists, but no provider that has it is set up here: " +
      "first-host, second; GET /models lists the available models";
    expect(explain("public-1")).toBe(known);
    expect(explain("code-1")).toBe(known.replace("public-1", "code-1"));
    expect(explain("public-2")).toContain("does not exist here");
    const remedy =
      "set FIRST_HOST_API_KEY or SECOND_API_KEY and start again, or add a key of first-host or second on the page Providers";
    expect(remedies()).toEqual([{ model: "code-1", plugins: ["first-host", "second"], remedy }]);
  });

  test("is not told from an unknown one to a caller that may not use it", async () => {
    const { explain, remedies } = await load(keyless);
    expect(explain("public-1", { ...caller, allowedModels: new Set(["served-1"]) })).toContain("does not exist here");
    expect(explain("public-1", { ...caller, allowedModels: new Set(["code-1"]) })).toContain("exists, but");
    expect(remedies()).toHaveLength(1);
  });

  test("of a provider that was added by a page has its key from there alone", async () => {
    const added = builtIns.map((plugin) => ({ ...plugin, environment: false as const }));
    const { explain, remedies } = await load({ ...keyless, builtIns: added });
    expect(explain("public-1")).toContain("no provider that has it is set up here: first-host, second;");
    expect(remedies()).toMatchObject([{ remedy: "add a key of first-host or second on the page Providers" }]);
  });

  test("of a disabled provider is told as such", async () => {
    const { explain, remedies } = await load({
      builtIns,
      readCredentials: () => ({ keys: ["key"] }),
      choices: disabled,
    });
    expect(explain("public-1")).toContain("the operator has disabled its provider: first-host, second;");
    expect(remedies()).toMatchObject([{ remedy: "enable first-host or second on the page Providers" }]);
  });

  test("of a provider that cannot be used is told as such, without what is wrong with it", async () => {
    const { explain, remedies } = await load({
      builtIns,
      readCredentials: ({ name }) => {
        if (name !== "served") throw new Error("its address is wrong");
        return { keys: ["key"] };
      },
    });
    expect(explain("public-1")).toContain("its provider cannot be used now: first-host, second;");
    expect(explain("public-1")).not.toContain("address");
    expect(remedies()).toMatchObject([{ plugins: ["first-host", "second"] }]);
  });
});
