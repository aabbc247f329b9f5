import type { Config } from "../../config/index.ts";
import { type BudgetPeriod, isNetwork, networkForm, parseUsd } from "../../contract/index.ts";
import { type CacheMarksSetting, cacheMarksSettings } from "../../keys/index.ts";
import { getDisplayName } from "../../provider/index.ts";
import { getModelNames, type ModelNames } from "../../providers/index.ts";
import { roles } from "../../tenants/index.ts";
import { type CliContext, UsageError } from "../command.ts";
import { loadSnapshot, readProviderSettings, toCatalogueRows } from "./catalogue.ts";

const unitMs = { m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000, y: 31_536_000_000 } as const;

/** The latest instant a `Date` can hold. */
const instantMax = 8_640_000_000_000_000;

/** The forms of a time in the future, for help. */
export const expiryForms =
  "a duration (30d, 12h, 1y), the last day (2027-01-31), or a time (18:00 of this machine, 2027-01-31T18:00Z)";

/**
 * Reads a duration such as `30d` or `12h`, a UTC day such as `2027-01-31` (its last millisecond), a time of day such as `18:00`
 * (the next one, in the time zone of this machine), or a date with a time.
 *
 * @returns Milliseconds since 1970.
 * @throws {UsageError} Naming `flag`, when it is none of them, or in the past.
 */
export function parseExpiry(text: string, now: number, flag = "--expires"): number {
  const duration = /^(\d{1,6})([mhdwy])$/.exec(text);
  const at = duration === null ? parseFutureTime(text, now) : now + Number(duration[1]) * unitMs[duration[2] as "d"];
  if (!(at <= instantMax)) throw new UsageError(`Cannot read ${flag} ${text}, expected ${expiryForms}`);
  if (at <= now) throw new UsageError(`Cannot use ${flag} ${text}: it is in the past, expected a later time`);
  return at;
}

function parseFutureTime(text: string, now: number): number {
  const clock = /^([01]?\d|2[0-3]):([0-5]\d)$/.exec(text);
  if (clock === null) return parseDateTime(text) ?? parseDayEnd(text);
  const next = new Date(now);
  next.setHours(Number(clock[1]), Number(clock[2]), 0, 0);
  // Days of a change of the clock are not of 24 hours.
  if (next.getTime() <= now) next.setDate(next.getDate() + 1);
  return next.getTime();
}

/** Reads a date with a time, such as `2027-01-31T18:00Z`; without a zone it is of this machine. */
function parseDateTime(text: string): number | undefined {
  const isForm = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,3})?)?(Z|[+-]\d{2}:\d{2})?$/.test(text);
  return isForm ? Date.parse(text) : undefined;
}

/**
 * Reads a moment: a UTC day, as its start, or a date with a time.
 *
 * @returns Milliseconds since 1970.
 * @throws {UsageError} Naming `flag`.
 */
export function parseMoment(flag: string, text: string): number {
  const at = parseDateTime(text) ?? parseDayEnd(text) + 1 - unitMs.d;
  if (Number.isNaN(at)) {
    throw new UsageError(`Cannot read ${flag} ${text}, expected a day or a time such as 2026-11-21T18:00Z`);
  }
  return at;
}

/**
 * Reads a UTC day such as `2026-11-21`.
 *
 * @returns Its first millisecond since 1970.
 * @throws {UsageError} Naming `flag`.
 */
export function parseDay(flag: string, text: string): number {
  const end = parseDayEnd(text);
  if (!Number.isNaN(end)) return end + 1 - unitMs.d;
  throw new UsageError(`Cannot read ${flag} ${text}, expected a day such as 2026-11-21`);
}

/** Reads the flag `--keys`: whether what a person or an admin key made is revoked with them. @throws {UsageError} */
export function parseRevokesKeys(text: string | undefined): boolean {
  if (text === undefined || text === "revoke") return text === "revoke";
  throw new UsageError(`Cannot use --keys ${text}, expected revoke`);
}

/** Reads US dollars from 0 as nanodollars. @throws {UsageError} */
export function parseBudget(flag: string, text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars >= 0) return nanodollars;
  throw new UsageError(`Cannot read ${flag} ${text}, expected US dollars from 0 such as 5.00, at most nine decimals`);
}

export const periods = ["day", "week", "month"] as const satisfies readonly BudgetPeriod[];

/** Reads the period of a budget. @throws {UsageError} */
export function parsePeriod(text: string): BudgetPeriod {
  const period = periods.find((name) => name === text.toLowerCase());
  if (period !== undefined) return period;
  throw new UsageError(`Cannot read the period ${text}, expected day, week or month`);
}

/** Reads whether prompts are marked for caches. @throws {UsageError} */
export function parseCacheMarks(text: string): CacheMarksSetting {
  const setting = cacheMarksSettings.find((word) => word === text.toLowerCase());
  if (setting !== undefined) return setting;
  throw new UsageError(`Cannot read --cache-marks ${text}, expected auto or off`);
}

/** Reads US dollars above 0 as nanodollars. @throws {UsageError} */
export function parseAmount(text: string): number {
  const nanodollars = parseUsd(text);
  if (nanodollars !== undefined && nanodollars > 0) return nanodollars;
  throw new UsageError(`Cannot read --usd ${text}, expected US dollars above 0 such as 5.00, at most nine decimals`);
}

/** Reads a limit, a whole number from 1. @throws {UsageError} */
export function parseLimit(flag: string, text: string): number {
  return parseWhole(flag, text, 1);
}

/** Reads a number of tokens from 0. @throws {UsageError} */
export function parseTokens(text: string): number {
  return parseCount("--tokens", text);
}

/** Reads a whole number from 0. @throws {UsageError} */
export function parseCount(flag: string, text: string): number {
  return parseWhole(flag, text, 0);
}

/** Reads a whole number from 1 to a maximum. @throws {UsageError} */
export function parseWithin(flag: string, text: string, max: number): number {
  const value = parseCount(flag, text);
  if (value < 1 || value > max) throw new UsageError(`${flag} is ${value}, expected 1 to ${max}`);
  return value;
}

/** Reads comma-separated addresses and CIDR ranges. @throws {UsageError} */
export function parseNetworkList(text: string): string[] {
  const networks = text.split(",").map((network) => network.trim());
  const wrong = networks.find((network) => !isNetwork(network));
  if (wrong === undefined) return networks;
  throw new UsageError(`Cannot read --networks ${text}: ${JSON.stringify(wrong)} is not ${networkForm}`);
}

/** Reads a role. @throws {UsageError} */
export function parseRole(text: string): (typeof roles)[number] {
  const role = roles.find((name) => name === text.toLowerCase());
  if (role !== undefined) return role;
  throw new UsageError(`Cannot use --role ${text}, expected one of ${roles.join(", ")}`);
}

/** The id of a key given by its id or in full, since the key itself is at hand when it has leaked. */
export function parseKeyId(idOrKey: string): string {
  return /^sk-mg-([^-]+)-/.exec(idOrKey)?.[1] ?? idOrKey;
}

/**
 * Reads the model ids of `--models a,b`, replacing aliases. An unknown name is kept with a warning, because a plugin
 * added later may have it.
 *
 * @throws {UsageError} When there is no name.
 * @throws {GatewayError} `invalid_request` for a name that no model will ever have.
 */
export async function parseAllowedModels(text: string, context: CliContext, config: Config): Promise<string[]> {
  const models = await loadModelNames(context, config);
  const names = text.split(",").map((name) => name.trim());
  for (const name of names) models.checkPossible(name, "models");
  const allowed = models.toIds(
    names.filter((name) => name !== ""),
    { onUnknown: (message) => warn(message, context) },
  );
  if (allowed.length > 0) return allowed;
  throw new UsageError(`Cannot read --models ${JSON.stringify(text)}, expected model ids separated by commas`);
}

/**
 * Reads any name of a model as its id. An unknown name is kept with a warning.
 *
 * @throws {UsageError} For a virtual model: its calls are recorded under the models that serve them.
 */
export async function parseModel(name: string, context: CliContext, config: Config): Promise<string> {
  const models = await loadModelNames(context, config);
  if (models.isVirtual(name)) throw new UsageError(`${name} is a virtual model; name the models that serve its calls`);
  models.checkPossible(name, "model");
  return findId(models, name, context);
}

/** Reads the name of a model as a filter of requests. Calls of a virtual model are found by the name that their clients sent. */
export async function parseModelFilter(
  name: string,
  context: CliContext,
  config: Config,
): Promise<{ model: string } | { requestedModel: string }> {
  const models = await loadModelNames(context, config);
  return models.isVirtual(name) ? { requestedModel: name } : { model: findId(models, name, context) };
}

function findId(models: ModelNames, name: string, context: CliContext): string {
  const model = models.find(name);
  if (model === undefined) warn(models.describeUnknown(name), context);
  return model?.id ?? name;
}

/** Reads the models, by whose ids it tells their names for people; an id that nobody knows is its own name. */
export async function readModelNames(context: CliContext, config: Config): Promise<(id: string) => string> {
  const { plugins } = await loadSnapshot(context, config, await readProviderSettings(config));
  const names = new Map(toCatalogueRows(plugins).map(({ model }) => [model.id, getDisplayName(model)]));
  return (id) => names.get(id) ?? id;
}

async function loadModelNames(context: CliContext, config: Config) {
  return getModelNames(await loadSnapshot(context, config, await readProviderSettings(config)));
}

/** `none` becomes `null`, which removes the value; a flag that was not given is `undefined`. */
export function parseOrNone<Value>(text: string | undefined, parse: (text: string) => Value): Value | null | undefined {
  if (text === undefined) return undefined;
  return text === "none" ? null : parse(text);
}

function warn(message: string, context: CliContext): void {
  context.stderr(`Warning: ${message}\n`);
}

function parseWhole(flag: string, text: string, minimum: number): number {
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN;
  if (Number.isSafeInteger(value) && value >= minimum) return value;
  throw new UsageError(`Cannot read ${flag} ${text}, expected a whole number from ${minimum}`);
}

function parseDayEnd(text: string): number {
  const start = /^\d{4}-\d{2}-\d{2}$/.test(text) ? Date.parse(`${text}T00:00:00.000Z`) : Number.NaN;
  if (Number.isNaN(start) || new Date(start).toISOString().slice(0, 10) !== text) return Number.NaN;
  return start + unitMs.d - 1;
}
