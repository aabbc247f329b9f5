import { describe, expect, test } from "bun:test";
import type { Model } from "../../../../src/dashboard/features/models/api.ts";
import { pickExampleModel, pickSmallModel } from "../../../../src/dashboard/features/models/example-model.ts";

/** A model that is capable, unless the fields say otherwise. */
const model = (
  name: string,
  fields: Partial<{ [Name in keyof Model]: unknown }> & { outputUsd?: string } = {},
): Model => {
  const { outputUsd = "10.00", ...others } = fields;
  const rate = { usd: outputUsd, per: 1_000_000 };
  return {
    id: name,
    name,
    capability: "chat",
    premium: true,
    ownedBy: "openai",
    created: 1,
    contextTokens: 400_000,
    features: ["tools"],
    price: { inputToken: rate, outputToken: rate },
    members: null,
    ...others,
  } as unknown as Model;
};

describe("the model that examples show", () => {
  test.each<[string, Model]>([
    ["that is retired", model("gpt-9", { retiredOn: "2020-01-01" })],
    ["that cannot use tools", model("gpt-9", { features: [] })],
    ["without room for the files of an agent", model("gpt-9", { contextTokens: 8000 })],
    ["whose price is unknown", model("gpt-9", { price: undefined })],
    ["that is dear", model("gpt-9", { outputUsd: "50.00" })],
    ["of an older version", model("gpt-5.6-sol", { outputUsd: "20.00" })],
    ["of one version that is cheaper", model("gpt-6.1-luna", { outputUsd: "0.50" })],
    ["that another serves under a name of its own", model("alibaba/gpt-9", { created: 9 })],
    ["of another maker than the client's", model("claude-9", { ownedBy: "anthropic" })],
    ["that is no chat model", model("gpt-9-image", { capability: "images" })],
    ["that is virtual", model("gpt-9-any", { members: ["gpt-6.1-sol"] })],
    ["whose size or date looks like a version", model("gpt-24b-2512")],
  ])("is not one %s", (_, other) => {
    const best = model("gpt-6.1-sol");
    expect(pickExampleModel([other, best])?.name).toBe("gpt-6.1-sol");
    expect(pickExampleModel([best, other])?.name).toBe("gpt-6.1-sol");
  });

  test("is the latest of the client's maker, and of any maker where that has none", () => {
    const models = [model("gpt-6.1-sol"), model("claude-opus-5-5", { ownedBy: "anthropic" })];
    expect(pickExampleModel(models, "anthropic")?.name).toBe("claude-opus-5-5");
    expect(pickExampleModel(models.slice(1))?.name).toBe("claude-opus-5-5");
    expect(pickExampleModel([])).toBeUndefined();
  });

  test("is one that can be reached, of another maker too, and the best of all where none can be", () => {
    const models = [model("gpt-9"), model("gpt-8"), model("claude-opus-5-5", { ownedBy: "anthropic" })];
    const pick = (...reachable: string[]) => pickExampleModel(models, "openai", ({ name }) => reachable.includes(name));
    expect(pick("gpt-8", "claude-opus-5-5")?.name).toBe("gpt-8");
    expect(pick("claude-opus-5-5")?.name).toBe("claude-opus-5-5");
    expect(pick()?.name).toBe("gpt-9");
  });
});

test("the model that examples show is not simulated where there is a real one, of another maker too", () => {
  const simulated = model("gpt-9", { simulated: true });
  const real = model("acme/chat", { ownedBy: "acme", features: [] });
  expect(pickExampleModel([simulated, real], "openai")?.name).toBe("acme/chat");
  expect(pickExampleModel([simulated])?.name).toBe("gpt-9");
});

describe("the model for the small work of an agent", () => {
  const main = model("gpt-6.1-sol");
  const small = model("gpt-6-luna", { outputUsd: "0.50" });

  test.each<[string, Model]>([
    ["that is retired", model("gpt-9-nano", { outputUsd: "0.10", retiredOn: "2020-01-01" })],
    ["that cannot use tools", model("gpt-9-nano", { outputUsd: "0.10", features: [] })],
    ["without room for the files of an agent", model("gpt-9-nano", { outputUsd: "0.10", contextTokens: 8000 })],
    ["whose price is unknown", model("gpt-9-nano", { price: undefined })],
    ["that costs more", model("gpt-9-nano", { outputUsd: "0.60" })],
    ["of another who serves it at the same price", model("host/gpt-9-luna", { outputUsd: "0.50" })],
    ["of an older version at the same price", model("gpt-5-luna", { outputUsd: "0.50" })],
    ["of another maker", model("claude-9", { outputUsd: "0.10", ownedBy: "anthropic" })],
    ["that is no chat model", model("gpt-9-image", { outputUsd: "0.10", capability: "images" })],
    ["that is virtual", model("gpt-9-any", { outputUsd: "0.10", members: ["gpt-6.1-sol"] })],
    ["that is simulated", model("gpt-9-nano", { outputUsd: "0.10", simulated: true })],
  ])("is the cheapest of the same maker, and not one %s", (_, other) => {
    expect(pickSmallModel([main, other, small], main).name).toBe("gpt-6-luna");
  });

  test("is the model itself where no other is cheaper, or its own price is unknown", () => {
    expect(pickSmallModel([main, small], small).name).toBe("gpt-6-luna");
    expect(pickSmallModel([small], model("any", { ownedBy: "modelgate", members: ["gpt-6-luna"] })).name).toBe("any");
    expect(pickSmallModel([small], model("own", { price: undefined })).name).toBe("own");
  });
});
