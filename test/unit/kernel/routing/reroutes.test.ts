import { describe, expect, test } from "bun:test";
import type { buildRegistry, Reroute } from "../../../../src/kernel/index.ts";
import { bench, type Chat, unavailable, withVirtual, works } from "../fallback-bench.ts";
import {
  type Bench,
  caller,
  chatCall,
  chatModel,
  createBench,
  createPlugin,
  rejectionOf,
  runCall,
} from "../support.ts";

const until = { untilMs: Number.MAX_SAFE_INTEGER };
const ofModel = (name: string, toModel: string, changes: Partial<Reroute> = {}): Reroute => ({
  subject: "model",
  name,
  toModel,
  ...changes,
});

function reroute(
  { kernel }: Pick<Bench, "kernel">,
  reroutes: Reroute[],
  plugins: Parameters<typeof buildRegistry>[0] = [],
) {
  kernel.registry = kernel.registry.withReroutes(reroutes, plugins);
}

/** One model at two providers, with the answers by provider. */
function atTwo(first: Chat, second: Chat) {
  const row = { ...chatModel, id: "a" };
  return createBench([
    createPlugin({ chat: first }, { name: "first", models: [{ ...row, priority: 1 }] }),
    createPlugin({ chat: second }, { name: "second", models: [{ ...row, priority: 2 }] }),
    createPlugin({ chat: works }, { name: "third", models: [{ ...row, id: "b" }] }),
  ]);
}

describe("a re-route of a model", () => {
  test("is answered by the other model, which is held, charged and named", async () => {
    const one = bench({ a: works, b: works }, { b: { premium: true } });
    reroute(one, [ofModel("a", "b", until)]);
    const call = chatCall({ model: "a" });
    expect((await runCall(one.kernel, call))?.model).toBe("b");
    expect(one.ledger.claims.map(({ model }) => model)).toEqual(["b"]);
    expect(call.run?.publicName).toBe("b");
    expect((await runCall(one.kernel, chatCall({ model: "b" })))?.model).toBe("b");
  });

  test("ends at its time by itself", async () => {
    const one = bench({ a: works, b: works });
    const call = chatCall({ model: "a" });
    const { openedAt } = call.request;
    reroute(one, [ofModel("a", "b", { untilMs: openedAt + 1 })]);
    expect((await runCall(one.kernel, call))?.model).toBe("b");
    reroute(one, [ofModel("a", "b", { untilMs: openedAt })]);
    expect((await runCall(one.kernel, chatCall({ model: "a" }, { openedAt })))?.model).toBe("a");
  });

  test("serves a key that may use the re-routed model alone, and no other key", async () => {
    const one = bench({ a: works, b: works });
    reroute(one, [ofModel("a", "b")]);
    const withList = (...models: string[]) => ({ caller: { ...caller, allowedModels: new Set(models) } });
    expect((await runCall(one.kernel, chatCall({ model: "a" }, withList("a"))))?.model).toBe("b");
    for (const [model, ...list] of [
      ["b", "a"],
      ["a", "b"],
    ] as const) {
      const error = await rejectionOf(runCall(one.kernel, chatCall({ model }, withList(...list))));
      expect(error.code).toBe("model_not_allowed");
    }
  });

  test("leaves a request that the other cannot serve to the model itself, and a failure of the other as well", async () => {
    const one = bench({ a: works, b: works, c: unavailable }, { b: { features: [] }, a: { features: ["tools"] } });
    reroute(one, [ofModel("a", "b")]);
    expect((await runCall(one.kernel, chatCall({ model: "a", functions: [{ name: "f" }] })))?.model).toBe("a");
    reroute(one, [ofModel("a", "c")]);
    const call = chatCall({ model: "a" });
    expect((await runCall(one.kernel, call))?.model).toBe("a");
    expect(call.failures.map(({ model }) => model)).toEqual(["c"]);
  });

  test("has no effect while the other is not served, or is for another endpoint", async () => {
    const embeddings = () => Promise.reject(new Error("It is not for chat"));
    const one = createBench([
      createPlugin({ chat: works }, { name: "a", models: [{ ...chatModel, id: "a" }] }),
      createPlugin({ embeddings }, { name: "b", models: [{ ...chatModel, id: "b", capability: "embeddings" }] }),
    ]);
    for (const target of ["b", "gone"]) {
      reroute(one, [ofModel("a", target)]);
      expect((await runCall(one.kernel, chatCall({ model: "a" })))?.model).toBe("a");
    }
  });

  test("is not followed by another one, so a circle ends", async () => {
    const one = bench({ a: works, b: works, c: works });
    reroute(one, [ofModel("a", "b"), ofModel("b", "a")]);
    expect((await runCall(one.kernel, chatCall({ model: "a" })))?.model).toBe("b");
    expect((await runCall(one.kernel, chatCall({ model: "b" })))?.model).toBe("a");
  });

  test("applies to a member of a virtual model and to a model of a list", async () => {
    const one = bench({ a: unavailable, b: works, c: works });
    withVirtual(one, { id: "fast", models: ["a", "c"] });
    reroute(one, [ofModel("a", "b")]);
    expect((await runCall(one.kernel, chatCall({ model: "fast" })))?.model).toBe("b");
    expect((await runCall(one.kernel, chatCall({ model: "a" }, { models: ["a", "c"] })))?.model).toBe("b");
  });

  test("answers for a model whose provider is not served, by any of its names", async () => {
    const one = bench({ b: works });
    const gone = createPlugin(
      { chat: works },
      { name: "gone", models: [{ ...chatModel, id: "a", aliases: ["nick"] }] },
    );
    for (const route of [ofModel("a", "b"), { subject: "provider", name: "gone", toModel: "b" } as const]) {
      reroute(one, [route], [gone]);
      for (const model of ["a", "nick"]) {
        expect((await runCall(one.kernel, chatCall({ model })))?.model).toBe("b");
      }
      const narrow = { caller: { ...caller, allowedModels: new Set(["b"]) } };
      expect((await rejectionOf(runCall(one.kernel, chatCall({ model: "a" }, narrow)))).code).toBe("model_not_allowed");
    }
    reroute(one, [ofModel("a", "absent")], [gone]);
    expect((await rejectionOf(runCall(one.kernel, chatCall({ model: "a" })))).code).toBe("model_not_found");
  });
});

describe("a re-route of a provider", () => {
  const away: Reroute = { subject: "provider", name: "first", toModel: "b" };

  test("prefers other routes of the same model, then the other model, then the provider itself", async () => {
    const routes = async (second: Chat) => {
      const one = atTwo(works, second);
      reroute(one, [away]);
      const call = chatCall({ model: "a" });
      await runCall(one.kernel, call);
      return [call.run?.model, call.run?.plugin];
    };
    expect(await routes(works)).toEqual(["a", "second"]);
    expect(await routes(unavailable)).toEqual(["b", "third"]);
  });

  test("without another model leaves models that have no other route where they are", async () => {
    const one = atTwo(works, works);
    reroute(one, [
      { subject: "provider", name: "first" },
      { subject: "provider", name: "third" },
    ]);
    const served = async (model: string) => {
      const call = chatCall({ model });
      await runCall(one.kernel, call);
      return call.run?.plugin;
    };
    expect([await served("a"), await served("b")]).toEqual(["second", "third"]);
  });

  test("yields to the re-route of a single model", async () => {
    const one = createBench(
      ["a", "b", "c"].map((id) => createPlugin({ chat: works }, { name: id, models: [{ ...chatModel, id }] })),
    );
    reroute(one, [{ subject: "provider", name: "a", toModel: "b" }, ofModel("a", "c")]);
    expect((await runCall(one.kernel, chatCall({ model: "a" })))?.model).toBe("c");
  });
});
