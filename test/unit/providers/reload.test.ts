import { afterEach, beforeEach, expect, test } from "bun:test";
import { code, type Home, makeHome, manifest, stockOf } from "./folder.ts";

/** The promise is about 1 000 reloads; `MODELGATE_LONG=1` makes them. A tenth may grow as much, by what a start leaves. */
const reloads = process.env.MODELGATE_LONG === "1" ? 1000 : 100;
const growthBytesMax = 50_000_000;

let home: Home;
beforeEach(() => {
  home = makeHome();
});
afterEach(() => home.clear());

test(`${reloads} reloads of a folder of code leave nothing behind`, async () => {
  home.write(
    "plugins/acme/index.ts",
    `import { model } from "./model.ts";\n${code("acme").replaceAll('"acme-1"', "model")}`,
  );
  const { pluginManager } = stockOf(home);
  const reload = async (version: number) => {
    home.write("plugins/acme/model.ts", `export const model = "version-${version}";\n// ${"x".repeat(10_000)}\n`);
    const { registry } = await pluginManager.load();
    expect(registry.byName(`version-${version}`)?.model.id).toBe(`version-${version}`);
  };
  for (let version = 0; version < 20; version++) await reload(version);
  const before = rssBytes();
  for (let version = 20; version < reloads + 20; version++) await reload(version);
  const growth = rssBytes() - before;
  process.stdout.write(`${reloads} reloads grew the process by ${(growth / 1e6).toFixed(1)} MB\n`);
  expect(growth).toBeLessThan(growthBytesMax);
});

test("200 plugins with 10 000 models are put on sale at once, and again without loading them", async () => {
  for (let plugin = 0; plugin < 200; plugin++) {
    const price = {
      inputToken: { usd: `0.${plugin + 1}`, per: 1_000_000 },
      outputToken: { usd: "0.40", per: 1_000_000 },
    };
    const models = Array.from({ length: 50 }, (_, index) => ({ id: `p${plugin}-${index}`, premium: true, price }));
    home.write(`plugins/p${plugin}.json`, manifest({ models }));
  }
  const { pluginManager } = stockOf(home);
  const beganAt = performance.now();
  const { registry } = await pluginManager.load();
  const firstMs = performance.now() - beganAt;
  const again = performance.now();
  pluginManager.fingerprint();
  const stampMs = performance.now() - again;
  await pluginManager.load();
  const lookMs = performance.now() - again - stampMs;
  process.stdout.write(
    `200 plugins, ${registry.size} models: ${firstMs.toFixed(0)} ms, a look ${lookMs.toFixed(0)} ms, its stamp ${stampMs.toFixed(1)} ms\n`,
  );
  expect(registry.size).toBe(10_000);
});

function rssBytes(): number {
  Bun.gc(true);
  return process.memoryUsage.rss();
}
