import { describe, expect, test } from "bun:test";
import { expectAllowed, mayUse } from "../../../../src/kernel/routing/registry.ts";
import { bench, listed, unavailable, withVirtual, works } from "../fallback-bench.ts";
import { caller, chatCall, rejectionOf, runCall } from "../support.ts";

describe("the lists of a key and its account", () => {
  test.each<[key: string[] | undefined, account: string[] | undefined, allowed: string]>([
    [undefined, undefined, "a b fast"],
    [["a"], undefined, "a"],
    [undefined, ["a"], "a"],
    [["a", "b"], ["b"], "b"],
    [["a"], ["b"], ""],
    [["fast"], undefined, "fast"],
    [["fast"], ["fast"], "fast"],
    // By the name of the virtual model alone.
    [["a"], ["fast"], ""],
  ])("%p and %p allow %p", (key, account, expected) => {
    const lists = { allowedModels: key && new Set(key), accountModels: account && new Set(account) };
    const allowed = ["a", "b"].filter((id) => mayUse(lists, id));
    if (mayUse(lists, "c", "fast")) allowed.push("fast");
    expect(allowed.join(" ")).toBe(expected);
  });

  test("a member of a virtual model needs its own name or that of the virtual model in each list", () => {
    const lists = { allowedModels: new Set(["fast"]), accountModels: new Set(["b"]) };
    expect(["a", "b"].filter((id) => mayUse(lists, id, "fast"))).toEqual(["b"]);
  });

  test("a refusal names whose list it is", () => {
    const account = { accountModels: new Set(["b", "c"]) };
    expect(() => expectAllowed(account, "a")).toThrow("This account may not use the model 'a'; it may use: b, c");
    const both = { ...account, allowedModels: new Set(["b"]) };
    expect(() => expectAllowed(both, "a")).toThrow("This API key may not use the model 'a'; it may use: b");
  });
});

describe("the list of an account", () => {
  const narrow = (...models: string[]) => ({ caller: { ...caller, accountModels: new Set(models) } });

  test("refuses a request for another model, and a list with one, before anything is held", async () => {
    const { kernel, ledger } = bench({ a: works, b: works });
    for (const call of [chatCall({ model: "b" }, narrow("a")), listed(["a", "b"], {}, narrow("a"))]) {
      expect((await rejectionOf(runCall(kernel, call))).code).toBe("model_not_allowed");
    }
    expect(ledger.claims).toEqual([]);
  });

  test("leaves the members of a virtual model that it has, and no others as its fallbacks", async () => {
    const one = bench({ a: works, b: unavailable, c: works });
    withVirtual(one, { id: "fast", models: ["a", "b"] });
    const error = await rejectionOf(runCall(one.kernel, chatCall({ model: "fast" }, narrow("b"))));
    expect(error.code).toBe("upstream_error");
    expect(one.ledger.claims.map(({ model }) => model)).toEqual(["b"]);
    expect((await runCall(one.kernel, chatCall({ model: "fast" }, narrow("fast"))))?.model).toBe("a");
  });

  test("names only its models in place of one that cannot serve the request", async () => {
    const { kernel } = bench(
      { a: works, b: works, c: works },
      { a: { features: [] }, b: { features: ["tools"] }, c: { features: ["tools"] } },
    );
    const call = chatCall({ model: "a", functions: [{ name: "f" }] }, narrow("a", "c"));
    expect((await rejectionOf(runCall(kernel, call))).message).toEndWith("models that can: c");
  });
});
