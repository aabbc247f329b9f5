import { describe, expect, test } from "bun:test";
import type { Caller } from "../../../../src/contract/index.ts";
import { buildRegistry } from "../../../../src/kernel/routing/registry.ts";
import type { Model } from "../../../../src/provider/index.ts";
import { chatModel, createPlugin } from "../support.ts";

const endsAt = Date.parse("2027-01-14");
const caller = { accountId: "a", keyId: "k" } as Caller;

function registryOf(...rows: Partial<Model>[]) {
  const models = rows.map((changes) => ({ ...chatModel, ...changes }) as Model);
  const plugin = createPlugin({ chat: () => Promise.reject(new Error("not asked")) }, { models });
  return buildRegistry([plugin], () => ({ keys: ["k"] })).registry;
}
const find = (registry: ReturnType<typeof registryOf>, name: string, openedAt: number, by = caller) =>
  registry.find(name, { capability: "chat", caller: by, openedAt }).model.id;

describe("a model that its provider ends", () => {
  const old = { id: "old", retiredOn: "2027-01-14", successor: "new" };

  test("answers until that day, and is then refused with its successor's name", () => {
    const registry = registryOf(old, { id: "new" });
    expect(find(registry, "old", endsAt - 1)).toBe("old");
    expect(() => find(registry, "old", endsAt)).toThrow(
      "The model 'old' was retired by its provider on 2027-01-14; use 'new' instead",
    );
  });

  test("is asked for as before when its row says so", () => {
    expect(find(registryOf({ ...old, whenRetired: "serve" }), "old", endsAt)).toBe("old");
  });

  test("is answered by its successor, and by that one's own, when its row says so", () => {
    const registry = registryOf(
      { ...old, aliases: ["older"], whenRetired: "successor" },
      { id: "new", retiredOn: "2027-02-01", successor: "newest", whenRetired: "successor" },
      { id: "newest" },
    );
    expect(find(registry, "older", endsAt)).toBe("new");
    expect(find(registry, "old", Date.parse("2027-02-01"))).toBe("newest");
  });

  test("is refused when the successor is unknown, or leads back to it", () => {
    const lost = registryOf({ ...old, whenRetired: "successor" });
    expect(() => find(lost, "old", endsAt)).toThrow("use 'new' instead");
    const end = { retiredOn: "2027-01-14", whenRetired: "successor" as const };
    const circle = registryOf({ ...end, id: "old", successor: "new" }, { ...end, id: "new", successor: "old" });
    expect(() => find(circle, "old", endsAt)).toThrow("was retired by its provider");
  });

  test("opens its successor only to keys that may use that", () => {
    const registry = registryOf({ ...old, whenRetired: "successor" }, { id: "new" });
    const narrow = { ...caller, allowedModels: new Set(["old"]) };
    expect(() => find(registry, "old", endsAt, narrow)).toThrow("may not use the model 'new'");
    expect(find(registry, "old", endsAt - 1, narrow)).toBe("old");
  });
});
