import { expect, test } from "bun:test";
import { tmpdir } from "node:os";
import { buildRegistry } from "../../../src/kernel/index.ts";
import { readDisk, readNodeState } from "../../../src/modules/alerts/read-state.ts";
import { chatModel, createPlugin } from "../kernel/support.ts";

const handlers = { chat: () => Promise.reject(new Error("not asked")) };
const plugin = (name: string, ...ids: string[]) =>
  createPlugin(handlers, { name, models: ids.map((id) => ({ ...chatModel, id })) });

test("only the end of models that a real provider serves and somebody calls is of interest", async () => {
  const plugins = [plugin("acme", "real", "both", "unused"), plugin("sandbox", "simulated", "both")];
  const { registry } = buildRegistry(plugins, () => ({ keys: ["k"] }));
  const usedModels = async () => new Set(["real", "both", "simulated"]);
  const { models } = await readNodeState(
    { registry, now: () => 0 },
    { folder: tmpdir(), health: () => [], usedModels },
  );
  expect(models.map(({ id }) => id).sort()).toEqual(["both", "real"]);
});

test("a disk is as full as `df` says", async () => {
  const child = Bun.spawn(["df", "-P", tmpdir()], { stdout: "pipe" });
  const [, percent] = /\s(\d+)%/.exec(await new Response(child.stdout).text()) ?? [];
  const disk = await readDisk(tmpdir());
  // It rounds up, and other work on this machine writes in between.
  expect(Math.abs((disk?.usedShare ?? 0) * 100 - Number(percent))).toBeLessThan(2);
  expect(await readDisk("/nonexistent/modelgate")).toBeUndefined();
});
