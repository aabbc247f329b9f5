import { readFileSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join, resolve } from "node:path";
import { decodeText, findSecretError, isPlainUrl } from "../contract/index.ts";
import {
  type CredentialFields,
  type CredentialForm,
  findCredentialError,
  formatCredential,
  getForm,
  getPlainFields,
  type MachineAddresses,
  type ProviderPlugin,
} from "../provider/index.ts";
import { readMachineAddresses } from "./machine.ts";
import type { Setting, SettingGroup, Settings, ValuesOf } from "./setting.ts";
import { settings } from "./settings.ts";
import { getPublicOrigin } from "./urls.ts";

type SettingName = keyof typeof settings;
type Values = ValuesOf<typeof settings>;

const names = Object.keys(settings) as SettingName[];

/** Every variable that is read, except variables of plugins. @param groups The settings of modules. */
export function listVariables(groups: readonly SettingGroup[]): string[] {
  return [settings, ...groups.map((group) => group.settings)].flatMap((each: Settings) =>
    Object.values(each).map(({ variable }) => variable),
  );
}

/** An operator's configuration of one plugin. */
interface Credentials {
  /** `<PLUGIN>_API_KEY`, split at commas, or the credentials of its fields; empty when not set. */
  readonly keys: readonly string[];
  /** `<PLUGIN>_BASE_URL`, without a trailing slash; absent when not set. */
  readonly baseUrl?: string;
}

/** The checked environment. */
export type Config = Values & {
  /** Variables that are set; the others have their default. */
  readonly given: ReadonlySet<string>;
  /** The proxy that `fetch` takes from the environment, for connections that do not use `fetch`. */
  readonly proxyEnv: Readonly<Record<string, string>> | undefined;
  /** Where the machine of a cloud learns its own credentials. */
  readonly machine: MachineAddresses;
  /** The settings of modules that {@link describeConfig} shows. */
  readonly groups: readonly SettingGroup[];
  /** Returns the values of the settings of a module. @throws {ConfigError} */
  of<S extends Settings>(group: SettingGroup<S>): ValuesOf<S>;
  /**
   * Reads the credentials of a plugin, which need not be built in. A plugin that declares `environment: false` has no
   * credentials.
   *
   * @param plugin `credential` describes the parts of its credential; absent: one key.
   * @throws {ConfigError} When a key contains characters that a header cannot, the base URL is invalid, or fields that
   * belong together are not all set.
   */
  credentials(plugin: KeyedPlugin): Credentials;
};

type KeyedPlugin = Pick<ProviderPlugin, "name"> & Partial<Pick<ProviderPlugin, "credential" | "environment">>;

/** One row of `modelgate config`; `value` never contains a secret. */
export interface ConfigRow {
  name: string;
  value: string;
  source: "environment" | "default";
}

/** A variable that cannot be used. The message names it, says why (never showing a secret) and what was expected. */
export class ConfigError extends Error {
  override readonly name = "ConfigError";
  readonly variable: string;

  constructor(variable: string, problem: string) {
    super(`Cannot use ${variable}: ${problem}`);
    this.variable = variable;
  }
}

type Environment = Readonly<Record<string, string | undefined>>;

/**
 * Checks the environment. An empty variable counts as not set.
 *
 * @param groups The settings of modules.
 * @throws {ConfigError} At the first variable that cannot be used.
 */
export function readConfig(env: Environment, groups: readonly SettingGroup[] = []): Config {
  checkCertificates(env);
  const values = readValues(settings, env);
  checkWorkers(values);
  checkSignIn(values);
  checkTogether({ settings, together }, values);
  checkMetrics(values);
  for (const group of groups) readGroup(group, env);
  return {
    ...values,
    home: toAbsolute(values.home, env),
    pluginsDir: values.pluginsDir === undefined ? undefined : toAbsolute(values.pluginsDir, env),
    given: new Set(
      Object.keys(env)
        .filter((variable) => readText(env, variable) !== undefined)
        .flatMap((variable) => [variable, variable.replace(/_FILE$/, "")]),
    ),
    proxyEnv: readProxy(env),
    machine: readMachineAddresses(env),
    groups,
    of: (group) => readGroup(group, env),
    credentials: ({ name, credential = "key", environment }) => {
      if (environment === false) return { keys: [] };
      const form = getForm(credential);
      return form === undefined ? readCredentials(name, env) : readFormCredentials(name, form, env);
    },
  };
}

/** The settings in force and where each comes from. */
export function describeConfig(
  config: Config,
  plugins: readonly Pick<ProviderPlugin, "name" | "credential">[] = [],
): ConfigRow[] {
  const toRow = (name: string, value: string): ConfigRow => {
    return { name, value, source: config.given.has(name) ? "environment" : "default" };
  };
  const toSettingRow = ({ variable, secret }: Setting, value: unknown) => {
    if (value === undefined) return toRow(variable, "not set");
    return toRow(variable, secret ? "set" : value === "" ? "/" : String(value));
  };
  const rows = names.map((name) => toSettingRow(settings[name], config[name]));
  for (const group of config.groups) {
    const values = config.of(group);
    const place = rows.findIndex(({ name }) => name === group.after);
    const added = Object.entries(group.settings).map(([name, each]) => toSettingRow(each, values[name]));
    rows.splice(place === -1 ? rows.length : place + 1, 0, ...added);
  }
  for (const { name: pluginName, credential } of plugins) {
    if (credential === "none") continue;
    const { keys, baseUrl } = config.credentials({ name: pluginName, credential });
    const prefix = getVariablePrefix(pluginName);
    for (const { name, secret } of getForm(credential)?.fields ?? []) {
      const variable = getFieldVariable(pluginName, name);
      const shown = keys.flatMap((key) => getPlainFields(key)[name] ?? []).join(",");
      rows.push(toRow(variable, config.given.has(variable) ? (secret === true ? "set" : shown) : "not set"));
    }
    if (getForm(credential) !== undefined) {
      rows.push(toRow(`${prefix}_BASE_URL`, baseUrl ?? "not set"));
      continue;
    }
    const count = `set (${keys.length} ${keys.length === 1 ? "key" : "keys"})`;
    rows.push(toRow(`${prefix}_API_KEY`, keys.length === 0 ? "not set" : count));
    rows.push(toRow(`${prefix}_BASE_URL`, baseUrl ?? "not set"));
  }
  return rows;
}

/** The prefix of a plugin's variables: `my-host` → `MY_HOST`. */
export function getVariablePrefix(pluginName: string): string {
  return pluginName.toUpperCase().replaceAll("-", "_");
}

/** The variables that give a plugin its credential: `OPENAI_API_KEY`, or `BEDROCK_REGION with BEDROCK_API_KEY`. */
export function nameKeyVariables({ name, credential }: Pick<ProviderPlugin, "name" | "credential">): string {
  const [method] = getForm(credential)?.methods ?? [];
  if (method === undefined) return `${getVariablePrefix(name)}_API_KEY`;
  const [first, ...others] = method.fields.map((field) => getFieldVariable(name, field));
  return others.length === 0 ? String(first) : `${first} with ${others.join(" and ")}`;
}

/** The variable of a field of a plugin's credential: `region` of `bedrock` is `BEDROCK_REGION`. */
export function getFieldVariable(pluginName: string, field: string): string {
  return `${getVariablePrefix(pluginName)}_${field.toUpperCase()}`;
}

/** Refuses a variable that would be ignored although the operator relies on it. */
function checkCertificates(env: Environment): void {
  if (readText(env, "NODE_TLS_REJECT_UNAUTHORIZED") === "0") {
    const problem = "certificates are always verified; unset it, and add an authority with NODE_EXTRA_CA_CERTS";
    throw new ConfigError("NODE_TLS_REJECT_UNAUTHORIZED", problem);
  }
}

/**
 * Checks the proxy and certificate variables of a gateway that is about to start. A wrong one makes every call fail with an error
 * that looks like the provider's. Commands that make no connections skip this check, because shells often set a SOCKS proxy.
 *
 * @throws {ConfigError} At the first variable that cannot be used.
 */
export function checkConnections(env: Environment): void {
  checkAuthorities(env);
  for (const variable of listProxyVariables(env)) checkProxy(variable, env[variable]);
}

function checkAuthorities(env: Environment): void {
  // The runtime starts without the authorities of a file that it cannot read.
  const variable = "NODE_EXTRA_CA_CERTS";
  const file = env[variable];
  if (file === undefined || file === "") return;
  if (/-----BEGIN (TRUSTED |X509 )?CERTIFICATE-----/.test(readSecretFile(variable, file))) return;
  throw new ConfigError(variable, `${file} has no certificate, expected a file of certificates in PEM`);
}

/** Lists the proxy variables that the runtime reads. `ALL_PROXY` applies only to a scheme without a proxy of its own. */
function listProxyVariables(env: Environment): string[] {
  const both = (name: string) => [name, name.toLowerCase()];
  const isSet = (name: string) => both(name).some((variable) => (env[variable] ?? "").trim() !== "");
  const ofSchemes = ["HTTPS_PROXY", "HTTP_PROXY"];
  return [...ofSchemes, ...(ofSchemes.every(isSet) ? [] : ["ALL_PROXY"])].flatMap(both);
}

/** Checks the text with its spaces, because the runtime does not trim it. */
function checkProxy(variable: string, text = ""): void {
  if (text.trim() === "") return;
  const url = URL.parse(text.includes("://") ? text : `http://${text}`);
  if (text.trim() === text && url !== null && url.hostname !== "" && /^https?:$/.test(url.protocol)) return;
  const shown = JSON.stringify(text.replace(/^([^/]*\/\/)?.*@/, "$1…@"));
  throw new ConfigError(variable, `it is ${shown}, expected an HTTP proxy such as http://proxy.example.com:3128`);
}

/** @throws {ConfigError} */
function readGroup<S extends Settings>(group: SettingGroup<S>, env: Environment): ValuesOf<S> {
  const values = readValues(group.settings, env);
  checkTogether(group, values);
  const refused = group.check?.(values, (variable) => readText(env, variable));
  if (refused !== undefined) throw new ConfigError(refused.variable, refused.problem);
  return values;
}

function readValues<S extends Settings>(settings: S, env: Environment): ValuesOf<S> {
  const entries = Object.entries(settings).map(([name, each]) => [name, readSetting(each, env)]);
  return Object.fromEntries(entries) as ValuesOf<S>;
}

function checkTogether<S extends Settings>({ settings, together = [] }: SettingGroup<S>, values: ValuesOf<S>): void {
  for (const group of together) {
    const present = group.find((name) => values[name] !== undefined);
    const missing = group.find((name) => values[name] === undefined);
    if (present === undefined || missing === undefined) continue;
    const problem = `it is not set, but ${settings[present]?.variable} is, expected both or neither`;
    throw new ConfigError(settings[missing]?.variable ?? missing, problem);
  }
}

function readSetting({ variable, fallback, secret, expected, parse }: Setting, env: Environment): unknown {
  const rawValue = secret ? readSecret(env, variable) : readText(env, variable);
  const text = rawValue ?? fallback;
  if (text === undefined) return undefined;
  let problem = secret ? "its value is invalid" : `it is ${JSON.stringify(rawValue)}`;
  try {
    const value = parse(text);
    if (value !== undefined) return value;
  } catch (error) {
    if (!(error instanceof RangeError)) throw error;
    problem = error.message;
  }
  throw new ConfigError(variable, `${problem}, expected ${expected}`);
}

function readProxy(env: Environment): Config["proxyEnv"] {
  const read = (name: string) => readText(env, name.toLowerCase()) ?? readText(env, name);
  const [proxy, noProxy] = [read("HTTPS_PROXY") ?? read("ALL_PROXY"), read("NO_PROXY")];
  if (proxy === undefined) return undefined;
  return { HTTPS_PROXY: proxy, ...(noProxy !== undefined && { NO_PROXY: noProxy }) };
}

function readCredentials(pluginName: string, env: Environment): Credentials {
  const keyVariable = `${getVariablePrefix(pluginName)}_API_KEY`;
  const listed = (readSecret(env, keyVariable) ?? "").split(",").map((key) => key.trim());
  const keys = [...new Set(listed.filter((key) => key !== ""))];
  for (const key of keys) checkSecret(keyVariable, key);
  const invalid = keys.findIndex((key) => !/^[\x21-\x7e]+$/.test(key));
  if (invalid !== -1) {
    const problem = `key ${invalid + 1} contains a space or a character that a header cannot contain`;
    throw new ConfigError(keyVariable, `${problem}, expected one key or several separated by commas`);
  }
  return { keys, ...readBaseUrl(pluginName, env) };
}

function readBaseUrl(pluginName: string, env: Environment): Pick<Credentials, "baseUrl"> {
  const variable = `${getVariablePrefix(pluginName)}_BASE_URL`;
  const text = readText(env, variable);
  return text === undefined ? {} : { baseUrl: parseBaseUrl(variable, text) };
}

/**
 * Reads credentials with fields, each from its own variable. Several values in a variable, separated by commas, make
 * several credentials; a field with one value applies to all of them.
 */
function readFormCredentials(pluginName: string, form: CredentialForm, env: Environment): Credentials {
  const base = readBaseUrl(pluginName, env);
  const nameOf = (field: string) => getFieldVariable(pluginName, field);
  const columns = form.fields.flatMap(({ name, isFile, secret }) => {
    const text = secret === true ? readSecret(env, nameOf(name)) : readText(env, nameOf(name));
    if (text === undefined) return [];
    const values = isFile === true ? [readDocument(nameOf(name), text)] : text.split(",").map((value) => value.trim());
    return [{ name, values }];
  });
  if (columns.length === 0) return { keys: [], ...base };
  const count = Math.max(...columns.map(({ values }) => values.length));
  const odd = columns.find(({ values }) => values.length !== 1 && values.length !== count);
  if (odd !== undefined) {
    const problem = `it has ${odd.values.length} values, expected one or ${count}, as the other fields have`;
    throw new ConfigError(nameOf(odd.name), problem);
  }
  const keys = Array.from({ length: count }, (_, index) => {
    const fields: CredentialFields = Object.fromEntries(
      columns.map(({ name, values }) => [name, values[values.length === 1 ? 0 : index]]),
    );
    const error = findCredentialError(form, fields, nameOf);
    if (error !== undefined) throw new ConfigError(nameOf(error.field), error.problem);
    if (base.baseUrl === undefined && form.baseUrl !== undefined && form.baseUrl(fields) === undefined) {
      throw new ConfigError(nameOf("base_url"), "it is not set, expected the base URL of the provider");
    }
    return formatCredential(form, fields);
  });
  return { keys: [...new Set(keys)], ...base };
}

/** A document itself, which is JSON, or the path of its file. */
function readDocument(variable: string, text: string): string {
  if (text.startsWith("{")) return text;
  try {
    return decodeText(readFileSync(text)).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(variable, `its file cannot be read (${code}), expected the document or the path of its file`);
  }
}

function parseBaseUrl(variable: string, text: string): string {
  if (isPlainUrl(text)) return new URL(text).href.replace(/\/+$/, "");
  const redacted = JSON.stringify(text.replace(/\/\/[^/]*@/, "//…@").replace(/\?.*$/, "?…"));
  throw new ConfigError(
    variable,
    `it is ${redacted}, expected an http or https URL without user name, query or fragment`,
  );
}

function readText(env: Environment, variable: string): string | undefined {
  const text = env[variable]?.trim();
  return text === "" ? undefined : text;
}

/**
 * Reads a secret from its variable, or from the file that `<VARIABLE>_FILE` names, as secrets of containers are given.
 *
 * @throws {ConfigError} When both are set, the file cannot be read or is empty, or the text is no secret, such as
 * `${OPENAI_API_KEY}` that nothing has replaced.
 */
function readSecret(env: Environment, variable: string): string | undefined {
  const own = readText(env, variable);
  const fileVariable = `${variable}_FILE`;
  const file = readText(env, fileVariable);
  if (file === undefined) return own === undefined ? undefined : checkSecret(variable, own);
  if (own !== undefined) throw new ConfigError(fileVariable, `it is set, and so is ${variable}, expected one of them`);
  const text = readSecretFile(fileVariable, file);
  if (text === "") throw new ConfigError(fileVariable, `${file} is empty, expected a file with the secret`);
  return checkSecret(fileVariable, text);
}

/** @returns The text of the file without white space around it. @throws {ConfigError} */
function readSecretFile(variable: string, file: string): string {
  try {
    return decodeText(readFileSync(file)).trim();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new ConfigError(variable, `${file} cannot be read (${code}), expected the path of a file`);
  }
}

/** @throws {ConfigError} */
function checkSecret(variable: string, text: string): string {
  const problem = findSecretError(text);
  if (problem !== undefined) throw new ConfigError(variable, problem);
  return text;
}

/** Several processes must share what a single one keeps in memory. */
function checkWorkers({ workers, redisUrl, databaseUrl, port }: Values): void {
  if (redisUrl !== undefined && databaseUrl === undefined) {
    const expected = "DATABASE_URL too for several gateways with shared wallets, or neither for a single gateway";
    throw new ConfigError("REDIS_URL", `it is set without DATABASE_URL, expected ${expected}`);
  }
  if (workers === 1) return;
  if (redisUrl === undefined) {
    const expected = "DATABASE_URL and REDIS_URL too for workers with shared wallets, quotas and limits, or 1 worker";
    throw new ConfigError("WORKERS", `it is ${workers} without REDIS_URL, expected ${expected}`);
  }
  if (port === 0) throw new ConfigError("PORT", "it is 0 with several WORKERS, expected the port that they share");
}

/** Settings that only work together. */
const together = [
  ["oidcIssuer", "oidcClientId", "oidcClientSecret"],
  ["oidcRoleClaim", "oidcRoles"],
  ["smtpUrl", "smtpFrom"],
] as const satisfies SettingName[][];

function checkSignIn(values: Values): void {
  if (values.oidcIssuer !== undefined && values.port === 0 && values.publicUrl === undefined) {
    const expected = "the origin for redirects from the issuer";
    throw new ConfigError("PUBLIC_URL", `it is not set, and PORT is 0, expected ${expected}`);
  }
  if (values.oidcRoleClaim !== undefined && values.oidcIssuer === undefined) {
    throw new ConfigError("OIDC_ISSUER", "it is not set, but OIDC_ROLE_CLAIM is, expected both or neither");
  }
}

/** Each worker counts its own calls, so each needs a port for its own metrics. */
function checkMetrics({ workers, metricsPort, metricsToken, port }: Values): void {
  if (metricsPort === undefined) {
    if (workers === 1 || metricsToken === undefined) return;
    const expected = "METRICS_PORT too, because each worker counts its own calls";
    throw new ConfigError("METRICS_TOKEN", `it is set with several WORKERS, expected ${expected}`);
  }
  if (metricsPort === 0) {
    if (workers === 1) return;
    const expected = "the first port of a range with one port for each worker";
    throw new ConfigError("METRICS_PORT", `it is 0 with several WORKERS, expected ${expected}`);
  }
  const last = metricsPort + workers - 1;
  if (last > 65_535)
    throw new ConfigError("METRICS_PORT", `it is ${metricsPort}, expected at most ${65_536 - workers}`);
  if (port < metricsPort || port > last) return;
  throw new ConfigError("METRICS_PORT", `it is ${metricsPort} and overlaps with PORT, expected another port`);
}

function toAbsolute(folder: string, env: Environment): string {
  const isOfUser = folder === "~" || folder.startsWith("~/");
  const expanded = isOfUser ? join(findUserFolder(env), folder.slice(1)) : folder;
  return isAbsolute(expanded) ? expanded : resolve(expanded);
}

/** @throws {ConfigError} For a user that the system does not know, as in a container with any user id. */
function findUserFolder(env: Environment): string {
  try {
    return readText(env, "HOME") ?? homedir();
  } catch {
    throw new ConfigError("MODELGATE_HOME", "it is not set, and this user has no home folder, expected a folder");
  }
}

/** Options of single sign-on; `undefined` when no identity provider is configured. */
export function getOidcOptions(config: Config) {
  const { oidcIssuer: issuer, oidcClientId: clientId, oidcClientSecret: clientSecret, oidcRoleClaim: claim } = config;
  if (issuer === undefined || clientId === undefined || clientSecret === undefined) return undefined;
  const roles = claim === undefined ? undefined : { claim, pairs: config.oidcRoles ?? [] };
  const publicOrigin = getPublicOrigin(config, config.port);
  return { issuer, clientId, clientSecret, publicOrigin, scopes: config.oidcScopes, roles };
}
