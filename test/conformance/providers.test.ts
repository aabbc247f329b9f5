import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { join } from "node:path";
import { builtIns, manifests } from "../../plugins/index.ts";
import { writePluginList } from "../../scripts/list-plugins.ts";
import { checkPlugin } from "../../src/cli/plugin-check/check-plugin.ts";
import { readFixtures } from "../../src/cli/plugin-check/fixture.ts";
import type { Model } from "../../src/provider/index.ts";
import { readManifest } from "../../src/providers/manifest.ts";
import { definePlugin } from "../../src/sdk/index.ts";

const folder = join(import.meta.dir, "../../plugins");
const entryOf = (name: string) => join(folder, name, "index.ts");
/** Those with documented answers beside them; of the others there are recordings. */
const documented = builtIns.filter(({ name }) => existsSync(join(folder, name, "fixtures")));
const row: Omit<Model, "id" | "capability"> = { upstreamId: "m", premium: false, ownedBy: "m", created: 0 };
/** Without a list of their own, so with models as they are found at a server. */
const found = [
  { ...row, id: "found", capability: "chat" as const },
  { ...row, id: "found-embed", capability: "embeddings" as const },
];
const servers = Object.entries(manifests).map(([name, manifest]) => {
  const { unlisted: _, ...plugin } = readManifest(manifest, name);
  return definePlugin({ ...plugin, models: found });
});

test("the list of the plugins is that of their folders: if not, run bun run plugins:list", async () => {
  expect(await Bun.file(join(folder, "index.ts")).text()).toBe(writePluginList());
});

describe.each(documented.map((plugin) => [plugin.name, plugin] as const))("the plugin %s", (name, plugin) => {
  test("passes all that plugin check looks at, with its documented answers", async () => {
    const fixtures = readFixtures(entryOf(name));
    const marks = await checkPlugin(plugin, fixtures);
    expect(marks.filter(({ ok }) => !ok)).toEqual([]);
    const capabilities = new Set(plugin.models.map(({ capability }) => capability));
    const shown = new Set(fixtures.map(({ capability = "chat" }) => capability));
    expect([...capabilities].filter((capability) => !shown.has(capability))).toEqual([]);
  });
});

test.each(servers.map((plugin) => [plugin.name, plugin] as const))(
  "the ready manifest %s passes plugin check",
  async (_, plugin) => {
    const marks = await checkPlugin(plugin, []);
    expect(marks.filter(({ ok }) => !ok)).toEqual([]);
  },
);
