import { mkdirSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import type { Static } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { isLoopback } from "./loopback.ts";
import type { Setting } from "./setting.ts";
import { settings } from "./settings.ts";

export { isLoopback };

type SettingName = keyof typeof settings;
type Values = { readonly [Name in SettingName]: Static<(typeof settings)[Name]["schema"]> };

/** The variables read, without those of the plugins. */
export const variables: readonly string[] = Object.values(settings).map(({ variable }) => variable);

/** What the operator gave for one plugin. */
export interface Credentials {
  /** `<PLUGIN>_API_KEY`, split at commas; empty when not set. */
  readonly keys: readonly string[];
  /** `<PLUGIN>_BASE_URL`, without a trailing slash; absent when not set. */
  readonly baseUrl?: string;
}

/** All that the environment says, checked. */
export type Config = Values & {
  /** Variables that were set; the others stand on their default. */
  readonly given: ReadonlySet<string>;
  /** The proxy that the platform's `fetch` takes from the environment, for connections made without it. */
  readonly proxyEnv: Readonly<Record<string, string>> | undefined;
  /**
   * Reads the credentials of a plugin, whose name need not be known before.
   *
   * @throws {ConfigError} When a key cannot stand in a header or the base URL is none.
   */
  credentials(pluginName: string): Credentials;
};

/** One row of what `modelgate config` shows; `value` never holds a secret. */
export interface ConfigRow {
  name: string;
  value: string;
  source: "environment" | "default";
}

/** A variable that cannot be used. The sentence names it, says what it was (a secret never) and what was expected. */
export class ConfigError extends Error {
  readonly variable: string;

  constructor(variable: string, was: string, expected: string) {
    super(`Cannot use ${variable}: it is ${was}, expected ${expected}`);
    this.name = "ConfigError";
    this.variable = variable;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Checks the environment. An empty variable counts as not set.
 *
 * @throws {ConfigError} At the first variable that cannot be used.
 */
export function readConfig(env: Environment): Config {
  checkRemoved(env);
  const values = Object.fromEntries(
    (Object.keys(settings) as SettingName[]).map((name) => [name, readSetting(settings[name], env)]),
  ) as Values;
  checkWorkers(values);
  checkTogether(values);
  checkMetrics(values);
  const given = new Set(Object.keys(env).filter((variable) => textOf(env, variable) !== undefined));
  return {
    ...values,
    home: absolute(values.home, env),
    pluginsDir: values.pluginsDir === undefined ? undefined : absolute(values.pluginsDir, env),
    given,
    proxyEnv: readProxy(env),
    credentials: (pluginName) => readCredentials(pluginName, env),
  };
}

/** What is in force and where it comes from, for people; secrets are counted, never shown. */
export function describeConfig(config: Config, pluginNames: readonly string[] = []): ConfigRow[] {
  const sourceOf = (variable: string) => (config.given.has(variable) ? "environment" : "default");
  const rows: ConfigRow[] = (Object.keys(settings) as SettingName[]).map((name) => {
    const { variable, secret }: Setting = settings[name];
    const value = config[name];
    const text = value === "" ? "/" : String(value);
    const shown = value === undefined ? "not set" : secret ? "set" : text;
    return { name: variable, value: shown, source: sourceOf(variable) };
  });
  for (const pluginName of pluginNames) {
    const { keys, baseUrl } = config.credentials(pluginName);
    const [keyVariable, urlVariable] = [`${prefixOf(pluginName)}_API_KEY`, `${prefixOf(pluginName)}_BASE_URL`];
    const shown = keys.length === 0 ? "not set" : `set (${keys.length} ${keys.length === 1 ? "key" : "keys"})`;
    rows.push({ name: keyVariable, value: shown, source: sourceOf(keyVariable) });
    rows.push({ name: urlVariable, value: baseUrl ?? "not set", source: sourceOf(urlVariable) });
  }
  return rows;
}

/**
 * Makes the home folder where it is missing, open to its owner alone, and the folders inside it that are named.
 *
 * @throws {ConfigError} When it cannot be made or written to, or is no folder.
 */
export function makeHome(config: Pick<Config, "home">, ...inside: string[]): string {
  try {
    mkdirSync(config.home, { recursive: true, mode: 0o700 });
    for (const path of inside) mkdirSync(path, { recursive: true });
  } catch (cause) {
    const reason = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
    throw new ConfigError(
      settings.home.variable,
      `${config.home} (${reason})`,
      "a folder that can be made and written",
    );
  }
  return config.home;
}

/** The file that a server and its commands share, which is how a command takes effect in a running server. */
export function storeFileOf(config: Pick<Config, "home">): string {
  return join(config.home, "modelgate.db");
}

/** The folders that plugins are dropped into, and what sentences call them. */
export function pluginFolders({ home, pluginsDir }: Pick<Config, "home" | "pluginsDir">) {
  const own = { path: join(home, "plugins"), label: "plugins", required: false };
  return pluginsDir === undefined ? [own] : [own, { path: pluginsDir, label: "PLUGINS_DIR", required: true }];
}

/** The folder of the operator's own catalogue. */
export function catalogueFolder({ home }: Pick<Config, "home">) {
  return { path: join(home, "catalogue"), label: "catalogue", required: false };
}

/** Where a running server says what became of its plugins. */
export function pluginStateFileOf({ home }: Pick<Config, "home">): string {
  return join(home, "plugins.state.json");
}

/** Where the books are: in PostgreSQL where there is one, else in the home folder. */
export function storeOf(config: Pick<Config, "home" | "databaseUrl" | "sqliteSynchronous">) {
  const { databaseUrl: url, sqliteSynchronous: synchronous } = config;
  return url === undefined ? { file: storeFileOf(config), synchronous } : { url };
}

/** The prefix of a plugin's variables: `my-host` → `MY_HOST`. */
export function prefixOf(pluginName: string): string {
  return pluginName.toUpperCase().replaceAll("-", "_");
}

/** Refuses what would be ignored although whoever set it relies on it. */
function checkRemoved(env: Environment): void {
  const client = textOf(env, "UPSTREAM_CLIENT");
  if (client !== undefined) {
    const expected = "it not to be set: this setting is gone, and HTTPS_PROXY and NO_PROXY work without it";
    throw new ConfigError("UPSTREAM_CLIENT", JSON.stringify(client), expected);
  }
  if (textOf(env, "NODE_TLS_REJECT_UNAUTHORIZED") === "0") {
    const expected = "it not to be set: certificates are always verified; NODE_EXTRA_CA_CERTS adds an authority";
    throw new ConfigError("NODE_TLS_REJECT_UNAUTHORIZED", '"0"', expected);
  }
}

function readProxy(env: Environment): Config["proxyEnv"] {
  const read = (name: string) => textOf(env, name.toLowerCase()) ?? textOf(env, name);
  const [proxy, noProxy] = [read("HTTPS_PROXY") ?? read("ALL_PROXY"), read("NO_PROXY")];
  if (proxy === undefined) return undefined;
  return { HTTPS_PROXY: proxy, ...(noProxy !== undefined && { NO_PROXY: noProxy }) };
}

function readSetting({ variable, schema, expected, fallback, secret, read }: Setting, env: Environment): unknown {
  const given = textOf(env, variable);
  const text = given ?? fallback;
  if (text === undefined) return undefined;
  const value = read === undefined ? text : read(text);
  if (Value.Check(schema, value)) return value;
  throw new ConfigError(variable, secret ? "set, but not in that form" : JSON.stringify(given), expected);
}

function readCredentials(pluginName: string, env: Environment): Credentials {
  const keyVariable = `${prefixOf(pluginName)}_API_KEY`;
  const urlVariable = `${prefixOf(pluginName)}_BASE_URL`;
  const listed = (textOf(env, keyVariable) ?? "").split(",").map((key) => key.trim());
  const keys = [...new Set(listed.filter((key) => key !== ""))];
  const bad = keys.findIndex((key) => !/^[\x21-\x7e]+$/.test(key));
  if (bad !== -1) {
    const was = `set, but key ${bad + 1} has a space or a character that no header takes`;
    throw new ConfigError(keyVariable, was, "one key, or several separated by commas");
  }
  const text = textOf(env, urlVariable);
  return text === undefined ? { keys } : { keys, baseUrl: readBaseUrl(urlVariable, text) };
}

function readBaseUrl(variable: string, text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const usable = url !== undefined && /^https?:$/.test(url.protocol) && url.search === "" && url.hash === "";
  if (usable && url.username === "" && url.password === "") return url.href.replace(/\/+$/, "");
  const shown = JSON.stringify(text.replace(/\/\/[^/]*@/, "//…@").replace(/\?.*$/, "?…"));
  throw new ConfigError(variable, shown, "an http or https URL without user name, query or fragment");
}

function textOf(env: Environment, variable: string): string | undefined {
  const text = env[variable]?.trim();
  return text === "" ? undefined : text;
}

/** What one process keeps alone, several would each keep for themselves. */
function checkWorkers({ workers, redisUrl, databaseUrl, port }: Values): void {
  if (redisUrl !== undefined && databaseUrl === undefined) {
    const expected = "DATABASE_URL with it, by which gateways share wallets; or neither, for one gateway alone";
    throw new ConfigError("REDIS_URL", "set without DATABASE_URL", expected);
  }
  if (workers === 1) return;
  if (redisUrl === undefined) {
    const expected = "DATABASE_URL and REDIS_URL with it, by which they share wallets, quotas and limits; or 1";
    throw new ConfigError("WORKERS", `${workers} without REDIS_URL`, expected);
  }
  if (port === 0) throw new ConfigError("PORT", "0 with several WORKERS", "one port for all of them to listen on");
}

/** Settings that mean nothing without one another. */
const groups = [
  ["oidcIssuer", "oidcClientId", "oidcClientSecret"],
  ["stripeSecretKey", "stripeWebhookSecret"],
] as const satisfies SettingName[][];

function checkTogether(values: Readonly<Record<SettingName, unknown>>): void {
  if (values.oidcIssuer !== undefined && values.port === 0 && values.publicUrl === undefined) {
    throw new ConfigError(
      "PUBLIC_URL",
      "not set, and PORT 0",
      "where people reach the gateway, for the issuer to send them back",
    );
  }
  for (const group of groups) {
    const [given, missing] = [true, false].map((wanted) =>
      group.find((name) => (values[name] !== undefined) === wanted),
    );
    if (given === undefined || missing === undefined) continue;
    const expected = `it to be set as ${settings[given].variable} is, or neither`;
    throw new ConfigError(settings[missing].variable, "not set", expected);
  }
}

/** A port that the API has, or a scrape that would meet another worker each time, is of no use. */
function checkMetrics({ workers, metricsPort, metricsToken, port }: Values): void {
  if (metricsPort === undefined) {
    if (workers === 1 || metricsToken === undefined) return;
    const expected = "METRICS_PORT with it, for each worker counts its own calls";
    throw new ConfigError("METRICS_TOKEN", "set with several WORKERS", expected);
  }
  if (metricsPort === 0) {
    if (workers === 1) return;
    throw new ConfigError("METRICS_PORT", "0 with several WORKERS", "the first of as many ports, one for each");
  }
  const last = metricsPort + workers - 1;
  if (last > 65_535) throw new ConfigError("METRICS_PORT", `${metricsPort}`, `at most ${65_536 - workers}`);
  if (port < metricsPort || port > last) return;
  throw new ConfigError("METRICS_PORT", `${metricsPort}, which is PORT`, "another port than the API's");
}

function absolute(folder: string, env: Environment): string {
  const user = textOf(env, "HOME") ?? homedir();
  const expanded = folder === "~" || folder.startsWith("~/") ? join(user, folder.slice(1)) : folder;
  return isAbsolute(expanded) ? expanded : resolve(expanded);
}
