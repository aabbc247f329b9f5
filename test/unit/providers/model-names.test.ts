import { describe, expect, test } from "bun:test";
import { buildRegistry, createVirtualModel } from "../../../src/kernel/index.ts";
import { getModelNames } from "../../../src/providers/index.ts";
import { builtIn } from "./folder.ts";

const served = builtIn("served", [{ id: "code-1", aliases: ["public-1"], upstreamId: "public-1" }]);
const idle = builtIn("idle", [
  { id: "idle-1", aliases: ["small"], upstreamId: "their-name" },
  { id: "public-2", upstreamId: "other-name" },
]);
const hidden = builtIn("hidden", [{ id: "hidden-1", aliases: ["their-name"], upstreamId: "hidden" }]);
const plugins = [served, idle, hidden];
const { registry } = buildRegistry(plugins, (name) => (name === "served" ? { keys: ["key"] } : undefined));
const virtual = createVirtualModel({ id: "fast", models: ["code-1"] }, (name) => registry.byName(name));
const names = getModelNames({ plugins, registry: registry.withVirtual(new Map([["fast", virtual]])) });

describe("the models of a list", () => {
  test("are found by any name that clients write, also of providers without a key, and each has its id once", () => {
    const unknown: string[] = [];
    const ids = names.toIds(["public-1", "code-1", "small", "fast", "public-2"], {
      onUnknown: (one) => unknown.push(one),
    });
    expect({ ids, unknown }).toEqual({ ids: ["code-1", "idle-1", "fast", "public-2"], unknown: [] });
  });

  test("stay as they are and are reported where no model has the name, of many the first five", () => {
    const unknown: string[] = [];
    const list = ["smal", ...Array.from({ length: 50 }, (_, index) => `${index} of no model at all`), "smal"];
    expect(names.toIds(list, { onUnknown: (one) => unknown.push(one) })).toEqual([...new Set(list)]);
    expect(unknown).toHaveLength(6);
    expect(unknown[0]).toBe("there is no model smal, did you mean small?");
    expect(unknown[1]).toBe("there is no model 0 of no model at all, see modelgate models");
    expect(unknown[5]).toBe("nor 46 more of the names");
  });

  test("may be those that are about to be added", () => {
    const onUnknown = () => expect.unreachable();
    expect(names.toIds(["soon"], { onUnknown, planned: (name) => (name === "soon" ? "soon-1" : undefined) })).toEqual([
      "soon-1",
    ]);
  });
});

test("a name at a provider is looked up there, and an alias of clients comes before it", () => {
  expect(names.find("other-name")).toBeUndefined();
  expect(names.findAtProvider("other-name")?.id).toBe("public-2");
  expect(names.findAtProvider("their-name")?.id).toBe("hidden-1");
  expect(names.findAtProvider("their-name", "idle")?.id).toBe("idle-1");
  expect(names.findAtProvider("their-name", "served")).toBeUndefined();
});
