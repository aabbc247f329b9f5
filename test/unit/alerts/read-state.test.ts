import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { readNodeState } from "../../../src/alerts/read-state.ts";
import { buildRegistry } from "../../../src/kernel/index.ts";
import { chatModel, createPlugin } from "../kernel/support.ts";

const handlers = { chat: () => Promise.reject(new Error("not asked")) };
const plugin = (name: string, ...ids: string[]) =>
  createPlugin(handlers, { name, models: ids.map((id) => ({ ...chatModel, id })) });

test("only the end of models that a real provider serves is of interest", async () => {
  const plugins = [plugin("acme", "real", "both"), plugin("sandbox", "simulated", "both")];
  const { registry } = buildRegistry(plugins, () => ({ keys: ["k"] }));
  const { models } = await readNodeState(registry, 0, tmpdir());
  expect(models.map(({ id }) => id).sort()).toEqual(["both", "real"]);
});
