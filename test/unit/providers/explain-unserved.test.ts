import { expect, test } from "bun:test";
import { explainUnserved } from "../../../src/providers/index.ts";
import { builtIn } from "./folder.ts";

const acme = builtIn("acme");

test("a provider without a key says which variable to set, or that a key can be stored", () => {
  expect(explainUnserved(acme, "no_credential")).toBe("set ACME_API_KEY or store a key");
  expect(explainUnserved({ ...acme, environment: false }, "no_credential")).toBe("store a key");
});

test("a provider that serves, or for which the sandbox does, needs no reason; the others say theirs", () => {
  for (const status of ["serving", "previous", "sandbox"] as const)
    expect(explainUnserved(acme, status)).toBeUndefined();
  expect(explainUnserved(acme, "disabled")).toBe("its provider is disabled");
  expect(explainUnserved(acme, "no_models")).toBe("its provider has not listed its models");
  for (const status of ["refused", undefined] as const)
    expect(explainUnserved(acme, status)).toBe("its provider cannot be used now");
});
