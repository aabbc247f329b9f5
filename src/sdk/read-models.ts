import {
  type Capability,
  compilePrice,
  getBasicMeters,
  type MeterName,
  type Price,
  reportedUnits,
} from "../contract/index.ts";
import { lowerFirst, shapeChecker } from "../lib/check-shape.ts";
import { isRecord } from "../lib/json.ts";
import { capabilityDefault, completeRow, type Model, ModelRow } from "../provider/index.ts";
import { PluginError } from "./errors.ts";

/** The rates that a price lacks to sell calls of this capability. */
export function findMissingRates(price: Price | undefined, capability: Capability): readonly MeterName[] {
  return getBasicMeters(capability, price).filter((name) => price?.[name] === undefined);
}

/**
 * Finds a rate of a unit that any answer may report and that the row sets no maximum for: no hold would cover it.
 *
 * @returns What is missing, as the end of an error message; `undefined` where nothing is.
 */
export function findUnboundedRate({
  price = {},
  ...row
}: Pick<Model, "audioMsMax" | "pagesMax" | "secondsMax"> & { price: Price | undefined }): string | undefined {
  const tariffs: [string, Partial<Price>][] = [["price", price]];
  for (const [index, tier] of (price.tiers ?? []).entries()) tariffs.push([`price.tiers[${index}]`, tier]);
  for (const [tier, tariff] of Object.entries(price.serviceTiers ?? {})) {
    const at = `price.serviceTiers.${tier}`;
    tariffs.push([at, tariff]);
    for (const [index, long] of (tariff.tiers ?? []).entries()) tariffs.push([`${at}.tiers[${index}]`, long]);
  }
  for (const { name, rowMax } of reportedUnits) {
    const [at] = tariffs.find(([, tariff]) => tariff[name] !== undefined) ?? [];
    if (at === undefined) continue;
    if (price[name] === undefined) return `it has ${at}.${name} without price.${name}; add that`;
    if (row[rowMax] === undefined) {
      return `it has ${at}.${name} without the most of it that one request is charged for; add "${rowMax}": 100`;
    }
  }
  return undefined;
}

const findRowError = shapeChecker(ModelRow);
/** Rows that passed the check. Other plugins made of them need not check them again. */
const checked = new WeakSet<ModelRow>();

let isTrusted = false;

/**
 * Loads plugins without a check of their rows: the gateway's own, which its tests and its build check. The check of more than
 * a thousand rows is a quarter of the work of a start.
 */
export async function loadTrusted<T>(load: () => Promise<T>): Promise<T> {
  isTrusted = true;
  try {
    return await load();
  } finally {
    isTrusted = false;
  }
}

/**
 * Reads a catalogue: `{ "models": [ … ] }` or the bare array of rows. An `id` and `premium` are enough for a row:
 * `definePlugin` fills in `upstreamId` (the id), `capability` (`chat`), `ownedBy` (the plugin's name) and `created` (0).
 *
 * @throws {PluginError} When a row is malformed, a premium model lacks a price it is sold by, or two rows share a name.
 * The message names the row, the field and what was expected.
 *
 * @example
 * const row = { id: "acme-1", upstreamId: "one", premium: false };
 * readModels({ models: [row] })[0].upstreamId; // => "one"
 */
export function readModels(file: unknown): ModelRow[] {
  const rows = isRecord(file) ? file.models : file;
  if (!Array.isArray(rows)) {
    throw new PluginError('Cannot read the catalogue: expected { "models": [ … ] } or an array of rows');
  }
  if (isTrusted) {
    for (const row of rows) checked.add(row);
    return rows;
  }
  const owners = new Map<string, string>();
  for (const [index, row] of rows.entries()) {
    const at = `models[${index}]`;
    if (!checked.has(row)) {
      checkShape(row, at);
      checkPrice(row, at);
      checked.add(row);
    }
    checkNames(row, at, owners);
  }
  return rows;
}

/** Completes rows that {@link readModels} has read, for the plugin that sells them. */
export function completeRows(rows: readonly ModelRow[], plugin: Parameters<typeof completeRow>[1]): Model[] {
  return rows.map((row) => {
    const complete = completeRow(row, plugin);
    // The fields that it adds are the gateway's own.
    checked.add(complete);
    return complete;
  });
}

function checkShape(row: unknown, at: string): asserts row is ModelRow {
  const error = findRowError(row);
  if (error === undefined) return;
  const name = isRecord(row) && typeof row.id === "string" ? ` (${row.id})` : "";
  throw new PluginError(`Cannot read ${at}${error.path}${name}: ${error.reason}`);
}

function checkPrice(row: ModelRow, at: string): void {
  const { id, capability = capabilityDefault, premium, price = {} } = row;
  try {
    compilePrice(price);
  } catch (cause) {
    const message = lowerFirst(cause instanceof Error ? cause.message : String(cause));
    throw new PluginError(`Cannot read ${at}.price (${id}): ${message}; write fewer digits`, { cause });
  }
  const unbounded = findUnboundedRate({ ...row, price });
  if (unbounded !== undefined) throw new PluginError(`Cannot sell ${at} (${id}): ${unbounded}`);
  const missing = findMissingRates(price, capability);
  if (missing.length === 0 || !premium) return;
  throw new PluginError(
    `Cannot sell ${at} (${id}): it is premium and has no price for ${missing.join(", ")}; ` +
      `add price.${missing[0]} as { "usd": "1.25", "per": 1000000 } or set premium to false`,
  );
}

function checkNames(row: ModelRow, at: string, owners: Map<string, string>): void {
  for (const name of [row.id, ...(row.aliases ?? [])]) {
    const owner = owners.get(name);
    if (owner !== undefined) {
      throw new PluginError(`Cannot read ${at} (${row.id}): the name ${name} belongs to ${owner} already; remove one`);
    }
    owners.set(name, `${at} (${row.id})`);
  }
}
