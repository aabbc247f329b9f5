import { capabilities, getOwn, quoteValue } from "../contract/index.ts";
import { shapeChecker } from "../lib/check-shape.ts";
import { suggestName } from "../lib/did-you-mean.ts";
import { isRecord } from "../lib/json.ts";
import { withKnownFields } from "../protocols/known-fields.ts";
import { readUsage } from "../protocols/openai/usage-report.ts";
import { classifyRefusal } from "../protocols/upstream-errors.ts";
import {
  type Checks,
  type CredentialMethod,
  capabilityDefault,
  contractVersion,
  type Handlers,
  type Model,
  type ModelOptions,
  type ModelParts,
  type ModelRow,
  type NativeForm,
  nativeForms,
  type OptionKind,
  optionalHandlers,
  type ProviderPlugin,
  Unlisted,
} from "../provider/index.ts";
import { PluginError } from "./errors.ts";
import { completeRows, findMissingRates, findUnboundedRate, readModels } from "./read-models.ts";

/** Changes of each version of the contract for authors of plugins. A new version adds a row. */
const contractChanges: Readonly<Record<number, string>> = {
  1: "the first version: definePlugin with name, baseUrl, models and handlers",
};

/**
 * Explains why a plugin for another version of the contract is refused: what changed since, and what to do.
 *
 * @param written The plugin's own `contractVersion`, unchecked.
 * @returns `undefined` when it is the version this gateway speaks.
 */
function contractMismatch(
  written: unknown,
  spoken: number = contractVersion,
  changes: Readonly<Record<number, string>> = contractChanges,
): string | undefined {
  if (written === spoken) return undefined;
  if (typeof written !== "number" || !Number.isInteger(written) || written < 0) {
    return `contractVersion is ${JSON.stringify(written)}, expected the number ${spoken}; write it, or leave the field out`;
  }
  const versions = `it is written for contract ${written}, this gateway speaks ${spoken}`;
  if (written > spoken) return `${versions}; update the gateway, or get the plugin's version for contract ${spoken}`;
  const changed = Object.entries(changes).filter(([version]) => Number(version) > written && Number(version) <= spoken);
  const list = changed.map(([version, change]) => `contract ${version}: ${change}`).join("; ");
  return `${versions}; what changed: ${list}; adapt the plugin and write contractVersion: ${spoken}`;
}

/** Definition of a plugin as its author writes it: a {@link ProviderPlugin} with most fields optional. */
export type PluginDefinition = Pick<ProviderPlugin, "name" | "baseUrl" | "handlers"> &
  Partial<Omit<ProviderPlugin, "contractVersion" | "models">> & {
    models: readonly ModelRow[];
    /** The contract the plugin was written for; the current one when left out. */
    contractVersion?: number;
  };

const findUnlistedError = shapeChecker(Unlisted);
const knownFields = [
  "name",
  "contractVersion",
  "baseUrl",
  "hosts",
  "credential",
  "environment",
  "authorize",
  "models",
  "forModel",
  "modelOptions",
  "handlers",
  "checks",
  "maxChoices",
  "takes",
  "requestFields",
  "readError",
  "readUsage",
  "unlisted",
];

/**
 * The headers that carry a key as most providers want it.
 *
 * @example
 * bearer("secret"); // => { authorization: "Bearer secret" }
 */
export function bearer(key: string): Record<string, string> {
  return { authorization: `Bearer ${key}` };
}

/**
 * Checks a plugin and fills in what it leaves out: `authorize` is {@link bearer}, `hosts` is empty, rows of models are
 * completed, `credential` is `"key"`, and `maxChoices` has no bound. {@link classifyRefusal} reads refusals, and
 * {@link readUsage} reads the usage that an answer reports.
 *
 * @throws {PluginError} When something is missing, misspelt or does not fit together; the message says where, and how
 * to fix it.
 *
 * @example
 * const row = { id: "acme-1", upstreamId: "one", premium: false };
 * const plugin = definePlugin({
 *   name: "acme",
 *   baseUrl: "https://api.acme.example/v1",
 *   models: readModels([row]),
 *   handlers: openai({ chat: {} }),
 * });
 * [plugin.credential, plugin.hosts]; // => ["key", []]
 */
export function definePlugin(definition: PluginDefinition): ProviderPlugin {
  if (!isRecord(definition))
    throw new PluginError("Cannot load the plugin: expected an object with name, baseUrl, models, handlers");
  const name = checkName(definition.name);
  for (const field of Object.keys(definition)) {
    if (!knownFields.includes(field)) fail(name, `unknown field ${field}${suggestName(field, knownFields)}`);
  }
  const {
    contractVersion: version = contractVersion,
    credential = "key",
    environment,
    maxChoices = {},
    takes,
    requestFields,
  } = definition;
  const mismatch = contractMismatch(version);
  if (mismatch !== undefined) fail(name, mismatch);
  if (environment !== undefined && environment !== false) {
    fail(name, `environment is ${quoteValue(environment)}; write false, or leave it out`);
  }
  if (credential !== "key" && credential !== "none") checkForm(name, credential, definition.authorize);
  const handlers = checkHandlers(name, definition.handlers, "handlers");
  const checks = definition.checks && checkHandlers(name, definition.checks as Handlers, "checks");
  const listed = requestFields === undefined ? [] : checkFields(name, requestFields);
  const plugin: ProviderPlugin = {
    name,
    contractVersion,
    baseUrl: checkUrl(name, definition.baseUrl),
    hosts: checkHosts(name, definition.hosts ?? []),
    credential,
    ...(environment === false && { environment }),
    authorize: checkFunction(name, "authorize", definition.authorize ?? ((_, { key }) => bearer(key))),
    models: checkModels(name, definition.models, { ...definition, handlers }),
    ...(definition.forModel && {
      forModel: restrictParts(checkFunction(name, "forModel", definition.forModel), listed),
    }),
    ...(definition.modelOptions && { modelOptions: definition.modelOptions }),
    ...(definition.unlisted !== undefined && { unlisted: checkUnlisted(name, definition.unlisted, handlers) }),
    handlers: withKnownFields(handlers, listed),
    ...(checks && { checks: checks as Checks }),
    maxChoices: checkBounds(name, maxChoices),
    ...(takes && { takes: checkForms(name, takes) }),
    ...(requestFields && { requestFields: listed }),
    readError: checkFunction(name, "readError", definition.readError ?? classifyRefusal),
    readUsage: checkFunction(name, "readUsage", definition.readUsage ?? readUsage),
  };
  return Object.freeze(plugin);
}

function checkName(name: unknown): string {
  if (typeof name === "string" && /^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) return name;
  throw new PluginError(
    `Cannot load the plugin ${JSON.stringify(name)}: its name must be kebab-case, such as my-provider`,
  );
}

function checkUrl(plugin: string, text: unknown): string {
  const url = typeof text === "string" && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== "https:" && url.protocol !== "http:")) {
    fail(plugin, `baseUrl is ${JSON.stringify(text)}; expected an address such as https://api.example.com/v1`);
  }
  if (url.search !== "" || url.hash !== "" || url.username !== "" || url.password !== "") {
    fail(plugin, "baseUrl holds a query, a fragment or a credential; leave only scheme, host and path");
  }
  return (text as string).trim().replace(/\/+$/, "");
}

function checkHosts(plugin: string, hosts: unknown): readonly string[] {
  if (!Array.isArray(hosts)) fail(plugin, "hosts must be an array of host names");
  for (const host of hosts) {
    if (typeof host !== "string" || !/^(\*\.)?[a-z0-9.-]+(:\d+)?$/.test(host)) {
      const expected = "expected a host name such as files.example.com, without scheme or path";
      fail(plugin, `hosts has ${JSON.stringify(host)}; ${expected}`);
    }
  }
  return hosts;
}

/** @param authorize A credential with fields has no usual header. */
function checkForm(plugin: string, form: unknown, authorize: unknown): void {
  const expected =
    '"key", "none", or { fields: [{ name, label, secret }], methods: [{ name, label, fields: [name, …] }] }';
  if (!isRecord(form) || !Array.isArray(form.fields) || !Array.isArray(form.methods)) {
    fail(plugin, `credential is ${JSON.stringify(form)}; expected ${expected}`);
  }
  const names: unknown[] = form.fields.map((field) => (isRecord(field) ? field.name : undefined));
  const odd = names.find((name) => typeof name !== "string" || !/^[a-z][a-z0-9]*(_[a-z0-9]+)*$/.test(name));
  if (odd !== undefined || new Set(names).size < names.length || names.includes(undefined)) {
    fail(
      plugin,
      `credential.fields has the name ${JSON.stringify(odd)}; expected each once, in small letters such as access_key_id`,
    );
  }
  if (form.methods.length === 0 || !form.methods.every(isMethod)) {
    fail(
      plugin,
      `credential.methods is ${JSON.stringify(form.methods)}; expected [{ name, label, fields: [name, …] }]`,
    );
  }
  const used = form.methods.flatMap(({ fields, optional = [] }) => [...fields, ...optional]);
  const unknown = used.find((name) => !names.includes(name));
  if (unknown !== undefined) {
    fail(plugin, `credential.methods names ${JSON.stringify(unknown)}; expected the names of its fields`);
  }
  const unused = names.find((name) => !used.includes(String(name)));
  if (unused !== undefined) fail(plugin, `no way to sign in has the field ${unused}; name it in credential.methods`);
  if (typeof authorize !== "function")
    fail(plugin, "a credential with fields needs authorize, which makes headers of them");
}

function isMethod(value: unknown): value is CredentialMethod {
  if (!isRecord(value) || typeof value.name !== "string" || typeof value.label !== "string") return false;
  return [value.fields, value.optional ?? []].every(
    (names) => Array.isArray(names) && names.every((name) => typeof name === "string"),
  );
}

function checkHandlers(plugin: string, handlers: unknown, field: "handlers" | "checks"): Handlers {
  if (!isRecord(handlers)) fail(plugin, `${field} must be an object of functions by capability`);
  const names: readonly string[] = field === "handlers" ? [...capabilities, ...optionalHandlers] : capabilities;
  for (const [name, handler] of Object.entries(handlers)) {
    if (!names.includes(name)) {
      fail(plugin, `${field}.${name} is not a capability${suggestName(name, names)}`);
    }
    if (handler !== undefined) checkFunction(plugin, `${field}.${name}`, handler);
  }
  return handlers as Handlers;
}

function checkModels(
  plugin: string,
  models: unknown,
  { handlers, modelOptions, unlisted }: Pick<PluginDefinition, "handlers" | "modelOptions" | "unlisted">,
): readonly Model[] {
  let rows: readonly Model[];
  try {
    rows = completeRows(readModels(models), { name: plugin, prefix: unlisted?.prefix });
  } catch (error) {
    if (error instanceof PluginError) fail(plugin, error.message);
    throw error;
  }
  for (const { id, capability, endpoint, options } of rows) {
    const error = modelOptions && findOptionError(options ?? {}, modelOptions);
    if (error !== undefined) fail(plugin, `model ${id} has options.${error}`);
    if (handlers[capability] === undefined) {
      fail(plugin, `model ${id} can ${capability}, but there is no handlers.${capability}; add it or remove the row`);
    }
    if (endpoint !== undefined && (capability !== "chat" || handlers[endpoint] === undefined)) {
      const advice = `add "${endpoint}": {} to the options of the plugin, or take the field out of the row`;
      fail(plugin, `model ${id} has an endpoint, which is for chat by plugins that speak that protocol; ${advice}`);
    }
  }
  return rows;
}

/** Finds an error in the `options` of a row: the rest of a message that begins with the option. */
function findOptionError(options: Readonly<Record<string, unknown>>, modelOptions: ModelOptions): string | undefined {
  for (const [name, value] of Object.entries(options)) {
    const kind = getOwn(modelOptions, name);
    if (kind === undefined) {
      const names = Object.keys(modelOptions);
      const hint = suggestName(name, names) || (names.length === 0 ? "; it has none" : `; it has ${names.join(", ")}`);
      return `${name}, which this plugin does not know${hint}`;
    }
    if (!isOfKind(value, kind)) {
      const expected = typeof kind === "string" ? kindNames[kind] : `one of ${kind.join(", ")}`;
      return `${name} as ${quoteValue(value)}, expected ${expected}`;
    }
  }
  return undefined;
}

const kindNames = {
  text: "a text",
  texts: "a list of texts",
  number: "a number",
  boolean: "true or false",
  object: "an object",
};

function isOfKind(value: unknown, kind: OptionKind): boolean {
  if (typeof kind !== "string") return kind.includes(value as string);
  if (kind === "text") return typeof value === "string" && value !== "";
  if (kind === "texts") return Array.isArray(value) && value.every((one) => typeof one === "string");
  return kind === "object" ? isRecord(value) : typeof value === kind;
}

function checkUnlisted(plugin: string, unlisted: unknown, handlers: Handlers): Unlisted {
  const error = findUnlistedError(unlisted);
  if (error !== undefined) fail(plugin, `unlisted${error.path}: ${error.reason}`);
  const { price, capability = capabilityDefault } = unlisted as Unlisted;
  const missing = findMissingRates(price, capability);
  if (missing.length > 0) {
    const example = `unlisted.price.${missing[0]} as { "usd": "1.25", "per": 1000000 }`;
    fail(plugin, `unlisted has no price for ${missing.join(", ")}, which its models need; add ${example}`);
  }
  const unbounded = findUnboundedRate({ price });
  if (unbounded !== undefined) fail(plugin, `unlisted cannot be sold: ${unbounded} to a row of its own`);
  if (handlers[capability] === undefined)
    fail(plugin, `unlisted can ${capability}, but there is no handlers.${capability}`);
  return unlisted as Unlisted;
}

function checkBounds(plugin: string, maxChoices: unknown): ProviderPlugin["maxChoices"] {
  if (!isRecord(maxChoices)) fail(plugin, "maxChoices must be an object, such as { chat: 1 }");
  for (const [name, bound] of Object.entries(maxChoices)) {
    if ((name !== "chat" && name !== "images") || !Number.isInteger(bound) || (bound as number) < 1) {
      const expected = "expected chat or images with a whole number above 0";
      fail(plugin, `maxChoices.${name} is ${JSON.stringify(bound)}; ${expected}`);
    }
  }
  return maxChoices;
}

function checkForms(plugin: string, takes: unknown): readonly NativeForm[] {
  const isKnown = (form: unknown) => nativeForms.includes(form as NativeForm);
  if (Array.isArray(takes) && takes.every(isKnown)) return takes;
  fail(plugin, `takes is ${JSON.stringify(takes)}; expected a list of ${nativeForms.join(", ")}`);
}

function checkFields(plugin: string, fields: unknown): readonly string[] {
  if (Array.isArray(fields) && fields.every((field) => typeof field === "string" && field !== "")) return fields;
  fail(
    plugin,
    `requestFields is ${JSON.stringify(fields)}; expected a list of names, such as ["chat_template_kwargs"]`,
  );
}

/** Parts of a plugin whose handlers, too, give a server of the operator's own only known fields. */
function restrictParts(
  forModel: NonNullable<ProviderPlugin["forModel"]>,
  requestFields: readonly string[],
): NonNullable<ProviderPlugin["forModel"]> {
  const restricted = new WeakMap<ModelParts, ModelParts>();
  return (model) => {
    const parts = forModel(model);
    if (parts?.handlers === undefined) return parts;
    const own = restricted.get(parts) ?? { ...parts, handlers: withKnownFields(parts.handlers, requestFields) };
    restricted.set(parts, own);
    return own;
  };
}

function checkFunction<T>(plugin: string, field: string, value: T): T {
  if (typeof value !== "function") fail(plugin, `${field} must be a function`);
  return value;
}

function fail(plugin: string, message: string): never {
  throw new PluginError(`Cannot load the plugin ${plugin}: ${message}`);
}
