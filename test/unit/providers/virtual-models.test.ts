import { afterEach, beforeEach, describe, expect, test } from "bun:test";
import { builtIn, type Home, makeHome, stockOf } from "./folder.ts";

let home: Home;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.clear());

const file = "catalogue/virtual.json";
const builtIns = [
  builtIn("stock", [{ aliases: ["nick"] }, { id: "stock-2" }]),
  builtIn("vectors", [{ id: "vector-1", capability: "embeddings" }]),
];
const membersOf = ({
  virtualModels,
}: {
  virtualModels: ReadonlyMap<string, { members: readonly { name: string }[] }>;
}) => [...virtualModels].map(([id, { members }]) => [id, ...members.map(({ name }) => name)]);

describe("catalogue/virtual.json", () => {
  test("adds virtual models, follows changes, and takes them away with the file", async () => {
    const { pluginManager } = stockOf(home, { builtIns });
    home.write(file, {
      models: [{ id: "fast", models: ["nick", { model: "stock-2", weight: 3 }], strategy: "weight" }],
    });
    const first = await pluginManager.load();
    expect([first.warnings, membersOf(first.registry)]).toEqual([[], [["fast", "nick", "stock-2"]]]);
    expect(first.registry.virtualModels.get("fast")?.members[1]?.weight).toBe(3);
    home.write(file, [{ id: "slow", models: ["stock-2"] }]);
    expect(membersOf((await pluginManager.load()).registry)).toEqual([["slow", "stock-2"]]);
    home.remove(file);
    const { registry, warnings } = await pluginManager.load();
    expect([membersOf(registry), warnings]).toEqual([[], []]);
  });

  test.each<[string, unknown, string]>([
    ["itself", { models: ["fast"] }, "models[0] is the row itself; list the models that it stands for"],
    ["a circle", { models: ["other"] }, "models[0] 'other' is a virtual model too"],
    [
      "an unknown member",
      { models: ["stock-1", "stok-2"] },
      "models[1] 'stok-2' is not a model here, did you mean stock-2?",
    ],
    ["a member twice", { models: ["stock-1", "stock-1"] }, "models[1] 'stock-1' is listed twice; remove one"],
    [
      "mixed capabilities",
      { models: ["stock-1", "vector-1"] },
      "its models are for different endpoints ('stock-1' is for chat, 'vector-1' is for embeddings); make one row for each",
    ],
    [
      "an unknown strategy",
      { models: ["stock-1"], strategy: "best" },
      'strategy: got "best", expected one of priority, weight',
    ],
    ["an unknown field", { models: ["stock-1"], stratgy: "weight" }, "unknown field, did you mean strategy?"],
    ["no members", { models: [] }, "models: "],
    ["a number as a member", { models: [5] }, "models[0]: got 5, expected string or object"],
    [
      "a weight below 0",
      { models: [{ model: "stock-1", weight: -1 }] },
      "models[0].weight: got -1, expected integer to be greater or equal to 0",
    ],
    [
      "a misspelt field of a member",
      { models: [{ model: "stock-1", weigth: 1 }] },
      "models[0].weigth: unknown field, did you mean weight?",
    ],
  ])("with %s is refused with file, place and fix, and its last version stays in force", async (_, worse, said) => {
    const { pluginManager } = stockOf(home, { builtIns });
    home.write(file, { models: [{ id: "fast", models: ["stock-1"] }] });
    await pluginManager.load();
    home.write(file, {
      models: [
        { id: "fast", ...(worse as object) },
        { id: "other", models: ["stock-2"] },
      ],
    });
    const { registry, warnings } = await pluginManager.load();
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toStartWith("Cannot use catalogue/virtual.json: models[0] (fast): ");
    expect(warnings[0]).toContain(said);
    expect(warnings[0]).toEndWith("; its last version stays in force");
    expect(membersOf(registry)).toEqual([
      ["fast", "stock-1"],
      ["other", "stock-2"],
    ]);
  });

  test.each<[string, string | object, string]>([
    ["malformed", "[{]", "line 1, column 3"],
    ["of another shape", { rows: [] }, "unknown field rows"],
    ["without a list", { models: {} }, 'expected { "models": [ … ] } or an array of rows'],
  ])("%s is refused as a whole, and what was in force stays", async (_, worse, said) => {
    const { pluginManager } = stockOf(home, { builtIns });
    home.write(file, [{ id: "fast", models: ["stock-1"] }]);
    await pluginManager.load();
    home.write(file, worse);
    const { registry, warnings } = await pluginManager.load();
    expect(warnings).toEqual([expect.stringContaining(said)]);
    expect(membersOf(registry)).toEqual([["fast", "stock-1"]]);
  });

  test("cannot take the name of a model, nor can a model take its name later", async () => {
    const plugins = [...builtIns];
    const { pluginManager } = stockOf(home, { builtIns: plugins });
    home.write(file, [
      { id: "nick", models: ["stock-2"] },
      { id: "later", models: ["stock-2"] },
    ]);
    const first = await pluginManager.load();
    expect(first.warnings).toEqual([
      "Cannot use catalogue/virtual.json: models[0] (nick): 'nick' is the name of a model already; choose another id",
    ]);
    plugins.push(builtIn("new", [{ id: "later" }]));
    expect(membersOf((await pluginManager.load()).registry)).toEqual([["later", "stock-2"]]);
  });

  test("leaves out a member whose plugin has no key until it has one", async () => {
    let keys: string[] = [];
    const { pluginManager } = stockOf(home, {
      builtIns,
      readCredentials: ({ name }) => ({ keys: name === "stock" ? keys : ["key"] }),
    });
    home.write(file, [{ id: "fast", models: ["stock-1"] }]);
    expect((await pluginManager.load()).warnings).toEqual([]);
    keys = ["key"];
    const { registry } = await pluginManager.load();
    expect(registry.byName("stock-1")).toBeDefined();
    expect(membersOf(registry)).toEqual([["fast", "stock-1"]]);
  });
});
