import { spawnSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Model } from "../../src/contract/index.ts";
import { compareModels } from "../../src/providers/compare-models.ts";
import { readModels } from "../../src/sdk/index.ts";
import { buildRows } from "./build-rows.ts";
import { checkPrices } from "./check-prices.ts";
import { cloudRules } from "./cloud-rules.ts";
import type { Listed } from "./price-list.ts";
import type { ProviderRules } from "./provider-rules.ts";
import { rules } from "./rules.ts";

const listUrl = "https://raw.githubusercontent.com/BerriAI/litellm/main/model_prices_and_context_window.json";
const root = join(import.meta.dirname, "../..");

/**
 * Writes `catalogue/current/*.json` from LiteLLM's price list and prints what changed.
 *
 *     bun run catalogue:refresh [FILE or URL of the list] [PLUGIN,PLUGIN]
 */
const list = await readList(process.argv[2] ?? listUrl);
const print = (text: string) => process.stdout.write(`${text}\n`);
const today = new Date().toISOString().slice(0, 10);
const taken = new Map<string, string>();
const all: Record<string, ProviderRules | readonly ProviderRules[]> = { ...rules, ...cloudRules };
const wanted = process.argv[3]?.split(",") ?? Object.keys(all);
for (const plugin of Object.keys(all)) {
  const file = join(root, "catalogue", `${plugin}.json`);
  if (existsSync(file)) take(readRows(file));
}
for (const [plugin, rulings] of Object.entries(all)) {
  if (!wanted.includes(plugin)) continue;
  const file = join(root, "catalogue/current", `${plugin}.json`);
  const before = existsSync(file) ? readRows(file) : [];
  const built = [rulings].flat().map((ruling) => ({ ruling, ...buildRows(list, ruling, { today, taken, before }) }));
  const rows = [...new Map(built.flatMap((one) => one.rows.map((row) => [row.id, row]))).values()];
  rows.sort((a, b) => (a.id < b.id ? -1 : 1));
  const leftOut = built.flatMap((one) => [...one.leftOut]);
  take(rows);
  writeFileSync(file, toText(readModels(rows)));
  print(`${plugin}: ${rows.length} models, checked on ${today}`);
  for (const line of compareModels(before, rows, ["checkedOn"])) print(`  ${line}`);
  for (const { ruling, rows: own } of built) {
    if (ruling.idPrefix !== undefined) continue;
    for (const line of checkPrices(ruling.provider, own, new Date(today))) print(`  ? ${line}`);
  }
  for (const [id, reason] of leftOut) print(`  not sold: ${id}: ${reason}`);
}
spawnSync("biome", ["format", "--config-path=.biome.json", "--write", "catalogue/current"], { cwd: root });

/** A name is one model's, whichever provider has it first. */
function take(rows: readonly Model[]): void {
  for (const { id, aliases = [] } of rows) for (const name of [id, ...aliases]) taken.set(name, id);
}

/** A rate stands on one line. */
function toText(models: readonly Model[]): string {
  const text = JSON.stringify({ models }, null, 2);
  return `${text.replace(/\{\s+"usd": ("[^"]+"),\s+"per": (\d+)\s+\}/g, '{ "usd": $1, "per": $2 }')}\n`;
}

function readRows(file: string): Model[] {
  return readModels(JSON.parse(readFileSync(file, "utf8")));
}

async function readList(place: string): Promise<Record<string, Listed>> {
  if (!/^https?:/.test(place)) return JSON.parse(readFileSync(place, "utf8"));
  const response = await fetch(place);
  if (!response.ok) throw new Error(`Cannot read ${place}: it answered ${response.status}; pass a file or another URL`);
  return (await response.json()) as Record<string, Listed>;
}
