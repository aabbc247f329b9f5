import { describe, expect, test } from "bun:test";
import { buildRegistry, type RegistryMemory } from "../../../../src/kernel/index.ts";
import type { Model, ProviderPlugin } from "../../../../src/provider/index.ts";
import { caller, chatModel, createPlugin } from "../support.ts";

const handlers = {
  chat: () => Promise.reject(new Error("not asked")),
  embeddings: () => Promise.reject(new Error("not asked")),
};
const named = (name: string, ...models: Partial<Model>[]): ProviderPlugin =>
  createPlugin(handlers, { name, models: models.map((changes) => ({ ...chatModel, ...changes })) });
const withKeys = () => ({ keys: ["k"] });
const build = (...plugins: ProviderPlugin[]) => buildRegistry(plugins, withKeys);

describe("a registry", () => {
  test("knows models by id and alias, and answers with the id", () => {
    const { registry } = build(named("acme", { aliases: ["gpt-chat", "chat"] }));
    for (const name of ["chat-1", "gpt-chat", "chat"]) expect(registry.byName(name)?.model.id).toBe("chat-1");
    expect([registry.byName("nobody"), registry.byName("constructor"), registry.size]).toEqual([
      undefined,
      undefined,
      1,
    ]);
  });

  test("names the model that a name with the provider before it means", () => {
    const { registry } = build(named("acme", { aliases: ["gpt-chat"] }));
    const find = (name: string) => () => registry.find(name, { capability: "chat", caller, openedAt: 0 });
    expect(find("openai/gpt-chat")).toThrow("The model 'openai/gpt-chat' does not exist here; 'gpt-chat' does");
    expect(find("openai/nobody")).toThrow(
      "The model 'openai/nobody' does not exist here; GET /models lists the available models",
    );
  });

  const clashes: [string, Partial<Model>, Partial<Model>, string][] = [
    [
      "an id that is an alias",
      { id: "a", aliases: ["b"] },
      { id: "b" },
      "'b' as the id of a model, but it is an alias of 'a'",
    ],
    [
      "an alias that is an id",
      { id: "a" },
      { id: "b", aliases: ["a"] },
      "'a' as an alias of a model, but it is the id of a model",
    ],
    [
      "an alias of another model",
      { id: "a", aliases: ["x"] },
      { id: "b", aliases: ["x"] },
      "'x' as an alias of a model, but it is an alias of 'a'",
    ],
  ];
  test.each(clashes)(
    "refuses the later plugin with %s, whichever file comes first later on",
    (_, first, second, words) => {
      const [acme, other] = [named("acme", first), named("other", second)];
      const memory: RegistryMemory = new Map();
      const labelOf = (name: string) => `plugins/${name}.json`;
      const { registry, refused } = buildRegistry([acme, other], withKeys, memory, labelOf);
      const message = `Plugin 'other' has ${words} in plugins/acme.json: rename one of the two`;
      expect(refused).toEqual([{ plugin: other, message }]);
      expect([registry.byName("a")?.model.id, registry.byName("b")?.model.id]).toEqual([
        "a",
        first.aliases?.[0] === "b" ? "a" : undefined,
      ]);
      memory.registry = registry;
      expect(buildRegistry([other, acme], withKeys, memory).refused.map(({ plugin }) => plugin)).toEqual([other]);
      expect(buildRegistry([other], withKeys, memory).refused).toEqual([]);
    },
  );

  test("takes an alias that two plugins have for one model", () => {
    const { registry, refused } = build(named("acme", { aliases: ["x"] }), named("other", { aliases: ["x"] }));
    expect([refused, registry.byName("x")?.routes.length]).toEqual([[], 2]);
  });

  test("suggests a name that is near, of the models that the caller may use", () => {
    const { registry } = build(named("acme", { aliases: ["gpt-chat"] }));
    const find = (name: string, allowed?: string[]) => () => {
      const limited = { ...caller, ...(allowed !== undefined && { allowedModels: new Set(allowed) }) };
      return registry.find(name, { capability: "chat", caller: limited, openedAt: 0 });
    };
    expect(find("gpt-cht")).toThrow("The model 'gpt-cht' does not exist here; did you mean 'gpt-chat'?");
    expect(find("gpt-cht", ["another"])).toThrow("GET /models lists the available models");
    expect(find("x".repeat(10_000))).toThrow("GET /models lists the available models");
  });

  test("allows a key its models by alias too, as they are listed by id", () => {
    const { registry } = build(named("acme", { aliases: ["gpt-chat"] }));
    const narrow = { ...caller, allowedModels: new Set(["chat-1"]) };
    expect(registry.find("gpt-chat", { capability: "chat", caller: narrow, openedAt: 0 }).model.id).toBe("chat-1");
  });

  test("says where a model of another capability is served", () => {
    const { registry } = build(named("acme", {}));
    expect(() => registry.find("chat-1", { capability: "embeddings", caller, openedAt: 0 })).toThrow(
      "served at /chat/completions, not at /embeddings",
    );
  });

  test("makes two plugins with one model two routes, by priority", () => {
    const { registry, refused } = build(named("first", {}), named("second", { priority: 1 }), named("third", {}));
    expect(refused).toEqual([]);
    expect(registry.byName("chat-1")?.routes.map(({ plugin }) => plugin.name)).toEqual(["second", "first", "third"]);
    expect([...registry.modelEntries]).toHaveLength(1);
  });

  test.each<[string, Partial<Model>]>([
    ["capability", { capability: "embeddings" }],
    ["premium", { premium: false }],
  ])("refuses a plugin that disagrees on %s, naming both, and keeps the others", (field, changes) => {
    const { registry, refused } = build(
      named("first", {}),
      named("second", changes, { id: "more" }),
      named("third", {}),
    );
    const message = expect.stringMatching(new RegExp(`'second' .*'chat-1' .*${field}.*'first'`));
    expect(refused).toMatchObject([{ plugin: { name: "second" }, message }]);
    expect(registry.byName("more")).toBeUndefined();
    expect(registry.byName("chat-1")?.routes.map(({ plugin }) => plugin.name)).toEqual(["first", "third"]);
  });

  test("refuses the second plugin of a name", () => {
    const { registry, refused } = build(named("acme", {}), named("acme", { id: "more" }));
    expect(refused).toMatchObject([{ message: expect.stringContaining("'acme' exists twice") }]);
    expect(registry.byName("more")).toBeUndefined();
  });

  test.each([undefined, { keys: [] }])("leaves out a plugin without a key (%p), unless it needs none", (credential) => {
    const free = createPlugin(handlers, { name: "free", credential: "none", models: [{ ...chatModel, id: "free-1" }] });
    const { registry, refused } = buildRegistry([named("acme", {}), free], () => credential);
    expect([...registry.modelEntries].map(({ model }) => model.id)).toEqual(["free-1"]);
    expect(refused).toEqual([]);
  });

  test("asks the operator's base URL where there is one, without its slash", () => {
    const { registry } = buildRegistry([named("acme", {})], () => ({
      keys: ["k"],
      baseUrl: "http://localhost:1/v1//",
    }));
    expect(registry.byName("chat-1")?.routes[0]?.baseUrl).toBe("http://localhost:1/v1");
  });

  test("shares a plugin's keys among its models", () => {
    const { registry } = build(named("acme", { id: "a" }, { id: "b" }));
    expect(registry.byName("a")?.routes[0]?.keys).toBe(registry.byName("b")?.routes[0]?.keys as never);
  });
});
