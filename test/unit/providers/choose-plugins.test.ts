import { expect, test } from "bun:test";
import type { ProviderPlugin } from "../../../src/provider/index.ts";
import { choosePlugins } from "../../../src/providers/choose-plugins.ts";

const plugin = (name: string) =>
  ({ name, credential: "key", models: [{ id: `${name}-model` }] }) as unknown as ProviderPlugin;
const [one, two] = [plugin("one"), plugin("two")];

function choose(
  setting: "on" | "off" | "auto",
  keyed: ProviderPlugin[],
  disabled: ProviderPlugin[],
  { isBroken = false, unreadable = [] as ProviderPlugin[], plugins: all = [one, two] } = {},
) {
  const createSandbox = (models: readonly { id: string }[]) =>
    ({ name: "sandbox", models }) as unknown as ProviderPlugin;
  const conditions = {
    hasKey: (of: ProviderPlugin) => keyed.includes(of),
    isEnabled: (of: ProviderPlugin) => !disabled.includes(of),
    hasUnreadableKeys: (of: ProviderPlugin) => unreadable.includes(of),
    isBroken,
  };
  const { plugins, sandbox } = choosePlugins(all, conditions, { setting, isLoopback: true, createSandbox });
  return { served: plugins.map(({ name, models }) => `${name}: ${models.map(({ id }) => id)}`), sandbox };
}

test("a provider that is disabled is neither served nor simulated", () => {
  expect(choose("on", [one], [one])).toEqual({ served: ["sandbox: two-model"], sandbox: true });
  expect(choose("auto", [], [one])).toEqual({ served: ["sandbox: two-model"], sandbox: true });
  expect(choose("off", [one, two], [one])).toEqual({ served: ["two: two-model"], sandbox: false });
});

test("the sandbox does not come back when the last real provider is disabled", () => {
  expect(choose("auto", [one], [one])).toEqual({ served: [], sandbox: false });
});

test("the sandbox does not stand in for a provider that is configured and cannot be used, unless it is asked for", () => {
  expect(choose("auto", [], [], { isBroken: true })).toEqual({ served: [], sandbox: false });
  expect(choose("on", [], [], { isBroken: true })).toEqual({ served: ["sandbox: one-model,two-model"], sandbox: true });
});

test("a provider whose keys cannot be read is never simulated, also where the sandbox is kept on", () => {
  expect(choose("on", [], [], { unreadable: [one] })).toEqual({ served: ["sandbox: two-model"], sandbox: false });
  expect(choose("auto", [], [], { unreadable: [one] })).toEqual({ served: [], sandbox: false });
});

test("a provider that an administrator has added is not simulated while it has no key", () => {
  const added = { ...plugin("added"), environment: false } as ProviderPlugin;
  const plugins = [one, added];
  expect(choose("on", [], [], { plugins })).toEqual({ served: ["sandbox: one-model"], sandbox: true });
  expect(choose("auto", [], [], { plugins })).toEqual({ served: ["sandbox: one-model"], sandbox: true });
});
