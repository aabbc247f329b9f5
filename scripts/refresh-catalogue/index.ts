import { spawnSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { findModelFacts, type Model } from "../../src/provider/index.ts";
import { compareModels } from "../../src/providers/compare-models.ts";
import { readModels } from "../../src/sdk/index.ts";
import { buildRows } from "./build-rows.ts";
import { checkPrices } from "./check-prices.ts";
import { cloudRules } from "./cloud-rules.ts";
import { readGenaiPrices } from "./genai-prices.ts";
import type { Listed } from "./price-list.ts";
import type { ProviderRules } from "./provider-rules.ts";
import { rules } from "./rules.ts";

const listUrl = "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json";
const root = join(import.meta.dirname, "../..");
const print = (text: string) => process.stdout.write(`${text}\n`);

/**
 * Compares the catalogue of each plugin with the price lists, prints what is new or differs, and writes
 * `plugins/<name>/catalogue.json` from them. With `--check` it writes nothing and ends with status 1 when something differs.
 *
 *     bun run catalogue:refresh [--check] [FILE or URL of LiteLLM's list] [PLUGIN,PLUGIN]
 */
const { values: flags, positionals } = parseArgs({ options: { check: { type: "boolean" } }, allowPositionals: true });
const today = new Date().toISOString().slice(0, 10);
const all = await readRules();
const secondList = all.flatMap(([, rulings]) => rulings.flatMap(({ list, provider }) => (list ? [provider] : [])));
const list = {
  ...(await readList(positionals[0] ?? listUrl)),
  ...readGenaiPrices(secondList, new Date(today)),
};
const plugins = positionals[1]?.split(",") ?? all.map(([plugin]) => plugin);
const owners = new Map<string, string>();
for (const [plugin] of all) {
  const file = join(root, "catalogue", `${plugin}.json`);
  if (existsSync(file)) take(readRows(file, plugin));
}
let differences = 0;
const unknown: string[] = [];
for (const [plugin, rulings] of all) {
  if (!plugins.includes(plugin)) continue;
  const file = join(root, "plugins", plugin, "catalogue.json");
  const before = existsSync(file) ? readRows(file, plugin) : [];
  const built = rulings.map((ruling) => ({ ruling, ...buildRows(list, ruling, { today, taken: owners, before }) }));
  const rows = [...new Map(built.flatMap((one) => one.rows.map((row) => [row.id, row]))).values()];
  rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  take(rows);
  const changes = compareModels(before, rows, ["checkedOn"]);
  differences += changes.length;
  unknown.push(...rows.filter(isUnknown).map(({ id }) => id));
  readModels(rows);
  if (flags.check !== true) writeFileSync(file, toText(rows));
  print(`${plugin}: ${rows.length} models, checked on ${today}`);
  for (const line of changes) print(`  ${line}`);
  for (const { ruling, rows: own } of built) {
    if (ruling.list !== undefined) continue;
    for (const line of checkPrices(ruling.provider, own, new Date(today))) print(`  ? ${line}`);
  }
  for (const [id, reason] of built.flatMap((one) => [...one.leftOut])) print(`  not sold: ${id}: ${reason}`);
}
print(`Not known whether they reason, and held as if they did: ${unknown.length} models`);
for (const id of unknown) print(`  ${id}`);
if (flags.check === true) {
  print(differences === 0 ? "The catalogue agrees with the lists" : `${differences} differences; nothing was written`);
  process.exitCode = differences === 0 ? 0 : 1;
} else {
  const files = plugins.map((plugin) => `plugins/${plugin}/catalogue.json`);
  spawnSync("biome", ["format", "--config-path=.biome.json", "--write", ...files], { cwd: root });
}

/**
 * Reads the rules of the first providers and of the clouds, and the rules of each plugin with a `catalogue-rules.ts`.
 */
async function readRules(): Promise<[string, readonly ProviderRules[]][]> {
  const shared = Object.entries({ ...rules, ...cloudRules });
  const names = readdirSync(join(root, "plugins")).filter((name) =>
    existsSync(join(root, "plugins", name, "catalogue-rules.ts")),
  );
  const own = await Promise.all(
    names.sort().map(async (name) => {
      const module = (await import(`../../plugins/${name}/catalogue-rules.ts`)) as {
        default: (typeof shared)[number][1];
      };
      return [name, module.default] as const;
    }),
  );
  return [...shared, ...own].map(([name, rulings]) => [name, [rulings].flat()]);
}

/** Whether neither the row of a chat model nor its name tells whether it reasons. */
function isUnknown({ capability, reasoning, upstreamId }: Model): boolean {
  return capability === "chat" && reasoning === undefined && findModelFacts(upstreamId).reasoning === undefined;
}

/** A name is one model's, whichever provider has it first. */
function take(rows: readonly Model[]): void {
  for (const { id, aliases = [] } of rows) for (const name of [id, ...aliases]) owners.set(name, id);
}

/** Serializes rows, with each rate on one line. */
function toText(models: readonly Model[]): string {
  const text = JSON.stringify({ models }, null, 2);
  return `${text.replace(/\{\s+"usd": ("[^"]+"),\s+"per": (\d+)\s+\}/g, '{ "usd": $1, "per": $2 }')}\n`;
}

function readRows(file: string, plugin: string): Model[] {
  const rows = readModels(JSON.parse(readFileSync(file, "utf8")));
  return rows.map((row) => ({ upstreamId: row.id, capability: "chat", ownedBy: plugin, created: 0, ...row }));
}

async function readList(place: string): Promise<Record<string, Listed>> {
  if (!/^https?:/.test(place)) return JSON.parse(readFileSync(place, "utf8"));
  const response = await fetch(place).catch((error: Error) => {
    throw new Error(`Cannot read ${place}: ${error.message}; pass a file or another URL`);
  });
  if (!response.ok) throw new Error(`Cannot read ${place}: it answered ${response.status}; pass a file or another URL`);
  return (await response.json()) as Record<string, Listed>;
}
