import { isDeepStrictEqual } from "node:util";
import { type Static, type TObject, Type } from "@sinclair/typebox";
import type { Config } from "../config/index.ts";
import { optional } from "../contract/index.ts";
import type { Database, Store } from "../db/index.ts";
import type { Credential, Markups, PolicyRule, Reroute } from "../kernel/index.ts";
import { defineFields, type JsonOf, type Schemas, toJson } from "../lib/fields.ts";
import { getSecrets, type ProviderPlugin } from "../provider/index.ts";
import { toReroute } from "./reroutes.ts";
import { SecretBox } from "./secret-box.ts";

/** A stored key of a provider. */
export interface StoredKey {
  readonly id: string;
  readonly last4: string;
  readonly setBy: string;
  readonly setAt: number;
  /** `undefined` when this gateway cannot decrypt it. */
  readonly secret: string | undefined;
}

/** An administrator's settings of a provider. */
export interface ProviderRow {
  readonly name: string;
  readonly isEnabled: boolean;
  readonly priority: number | undefined;
  readonly weight: number | undefined;
  /** Stored keys are used instead of those of the environment, once there is one. */
  readonly usesStoredKeys: boolean;
  readonly manifest: string | undefined;
  /** The SHA-256 of each manifest before, in hexadecimal, the latest last. */
  readonly earlierManifests: readonly string[];
  readonly isRemoved: boolean;
}

const Order = Type.Integer({ minimum: 0, maximum: 1000, description: "`null`: the value of each model" });

/** The fields of a provider that administrators set. */
export const providerFields = defineFields<ProviderRow>()({
  enabled: {
    schema: Type.Optional(
      Type.Boolean({ description: "`false`: its models are no longer served; running calls end normally" }),
    ),
    column: "isEnabled",
    changes: true,
  },
  priority: { schema: optional(Order), column: "priority", changes: true },
  weight: { schema: optional(Order), column: "weight", changes: true },
  uses_stored_keys: {
    schema: Type.Optional(
      Type.Boolean({
        description: "Whether stored keys are used instead of those of the environment, once there is a stored key",
      }),
    ),
    column: "usesStoredKeys",
    changes: true,
    flag: "stored_keys",
  },
});
export type ProviderChange = Static<TObject<Schemas<typeof providerFields>>>;

/** The fields of a provider in answers. @param row Absent: nothing was set yet. */
export function toProviderJson(
  row: Pick<ProviderRow, "isEnabled" | "priority" | "weight" | "usesStoredKeys"> = {
    isEnabled: true,
    priority: undefined,
    weight: undefined,
    usesStoredKeys: false,
  },
): JsonOf<typeof providerFields> {
  return toJson<ProviderRow, typeof providerFields>(providerFields, row);
}

/** Fields of a plugin that describe its credentials. */
type Keyed = Pick<ProviderPlugin, "name" | "credential" | "environment">;

function toMarkups(rows: readonly Pick<Database["markups"], "provider" | "basis_points">[]): Markups {
  const providers = new Map(rows.map((row) => [row.provider, row.basis_points]));
  const gateway = providers.get("");
  providers.delete("");
  return { gateway, providers };
}

export type SandboxSetting = Config["sandbox"];
/** The row of the table `settings` that says whether the sandbox stays available in addition to real providers. */
export const sandboxRow = "sandbox";

/** The owner of an encrypted key: its ciphertext is useless for another provider or id. */
export function keyOwnerOf(provider: string, id: string): string {
  return `provider key ${provider} ${id}`;
}

/** Settings of providers from the database, kept in memory: a call never waits for the database. */
export class ProviderSettings {
  readonly config: Config;
  readonly box: SecretBox;
  readonly #store: Store;
  readonly #redacted: Set<string>;
  #rows: ReadonlyMap<string, ProviderRow> = new Map();
  #keys: ReadonlyMap<string, readonly StoredKey[]> = new Map();
  #sandbox: SandboxSetting | undefined;
  #reroutes: readonly Reroute[] = [];
  #markups: Markups = { gateway: undefined, providers: new Map() };
  #policyRules: readonly PolicyRule[] = [];
  #fingerprint = "";
  #reading: Promise<unknown> = Promise.resolve();

  /** @param redacted Receives every decrypted key, which the log then never shows. */
  constructor(config: Config, store: Store, redacted = new Set<string>()) {
    this.config = config;
    this.box = new SecretBox(config);
    this.#store = store;
    this.#redacted = redacted;
  }

  get rows(): ReadonlyMap<string, ProviderRow> {
    return this.#rows;
  }

  /** Those that are in force, and perhaps some that have ended. */
  get reroutes(): readonly Reroute[] {
    return this.#reroutes;
  }

  /** Where policies apply. */
  get policyRules(): readonly PolicyRule[] {
    return this.#policyRules;
  }

  /** Those for accounts without one of their own. */
  get markups(): Markups {
    return this.#markups;
  }

  /**
   * Reads the database. Reads run one after the other: a late answer would otherwise revert a newer read.
   *
   * @returns Whether anything has changed.
   */
  read(): Promise<boolean> {
    const reading = this.#reading.then(() => this.#read());
    this.#reading = reading.catch(() => undefined);
    return reading;
  }

  async #read(): Promise<boolean> {
    const { db } = this.#store;
    const readRows = () => db.selectFrom("providers").selectAll().orderBy("name").execute();
    let [rows, keys]: [Database["providers"][], Database["provider_keys"][]] = [await readRows(), []];
    // A key that is given for a new address must not meet the address before it.
    for (let before: unknown; !isDeepStrictEqual(before, rows); ) {
      before = rows;
      keys = await db.selectFrom("provider_keys").selectAll().orderBy("set_at").orderBy("id").execute();
      rows = await readRows();
    }
    const sandbox = await db.selectFrom("settings").select("value").where("name", "=", sandboxRow).executeTakeFirst();
    const reroutes = await db.selectFrom("reroutes").selectAll().orderBy("id").execute();
    const markups = await db
      .selectFrom("markups")
      .select(["provider", "basis_points"])
      .where("account_id", "=", "")
      .orderBy("provider")
      .execute();
    const policies = await db.selectFrom("policies").selectAll().orderBy("id").execute();
    const facts = keys.map(({ secret, ...key }) => ({ ...key, secret: Buffer.from(secret).toString("base64") }));
    const fingerprint = JSON.stringify([rows, facts, sandbox, reroutes, markups, policies]);
    if (fingerprint === this.#fingerprint) return false;
    this.#rows = new Map(rows.map((row) => [row.name, toRow(row)]));
    this.#keys = Map.groupBy(
      keys.map((key) => this.#toKey(key)),
      ({ provider }) => provider,
    );
    this.#sandbox = toSandboxSetting(sandbox?.value);
    this.#reroutes = reroutes.map(toReroute);
    this.#policyRules = policies.map(toPolicyRule);
    this.#markups = toMarkups(markups);
    this.#fingerprint = fingerprint;
    return true;
  }

  #toKey({ id, provider, last4, set_by, set_at, ...key }: Database["provider_keys"]): StoredKey & { provider: string } {
    const secret = this.box.open(keyOwnerOf(provider, id), key.secrets_id, key.secret);
    if (secret !== undefined) for (const text of getSecrets(secret)) this.#redacted.add(text);
    return { id, provider, last4, setBy: set_by, setAt: set_at, secret };
  }

  keysOf(name: string): readonly StoredKey[] {
    return this.#keys.get(name) ?? [];
  }

  /**
   * Credentials of a provider in the environment; no credentials if they are invalid, and the provider's state then
   * describes the problem.
   */
  readGiven(plugin: Keyed): ReturnType<Config["credentials"]> {
    try {
      return this.config.credentials(plugin);
    } catch {
      return { keys: [] };
    }
  }

  /** Whether the keys of the environment are used: where there are some, unless stored keys were chosen and can be read. */
  usesEnvironment({ name }: Keyed, keys: readonly string[]): boolean {
    if (keys.length === 0) return false;
    const isChosen = this.#rows.get(name)?.usesStoredKeys === true;
    return !isChosen || this.keysOf(name).every(({ secret }) => secret === undefined);
  }

  /** The keys in use and the base URL of the environment. @throws {ConfigError} When the environment's are invalid. */
  credentials(plugin: Keyed): Credential {
    const environment = this.config.credentials(plugin);
    if (this.usesEnvironment(plugin, environment.keys)) return environment;
    return { ...environment, keys: [...new Set(this.keysOf(plugin.name).flatMap(({ secret }) => secret ?? []))] };
  }

  /** The ids of the keys in use, in the order of {@link credentials}; of the environment's, their places. */
  keyIdsOf(plugin: Keyed): string[] {
    const environment = this.readGiven(plugin);
    if (this.usesEnvironment(plugin, environment.keys))
      return environment.keys.map((_, index) => `environment:${index}`);
    const ids = new Map<string, string>();
    for (const { id, secret } of this.keysOf(plugin.name))
      if (secret !== undefined && !ids.has(secret)) ids.set(secret, id);
    return [...ids.values()];
  }

  hasUnreadableKeys(name: string): boolean {
    const keys = this.keysOf(name);
    return keys.length > 0 && keys.every(({ secret }) => secret === undefined);
  }

  /** The providers with stored keys of which this gateway can read none. */
  unreadableProviders(): string[] {
    return [...this.#keys.keys()].filter((name) => this.hasUnreadableKeys(name));
  }

  isEnabled(name: string): boolean {
    return this.#rows.get(name)?.isEnabled ?? true;
  }

  /** The plugin with the administrator's order of routes. */
  reorder(plugin: ProviderPlugin): ProviderPlugin {
    const { priority, weight } = this.#rows.get(plugin.name) ?? {};
    if (priority === undefined && weight === undefined) return plugin;
    const order = { ...(priority !== undefined && { priority }), ...(weight !== undefined && { weight }) };
    return { ...plugin, models: plugin.models.map((model) => ({ ...model, ...order })) };
  }

  /** SANDBOX of the environment, otherwise the administrator's choice, otherwise `auto`. */
  get sandbox(): { setting: SandboxSetting; source: "environment" | "database" | "default" } {
    if (this.config.given.has("SANDBOX")) return { setting: this.config.sandbox, source: "environment" };
    if (this.#sandbox !== undefined) return { setting: this.#sandbox, source: "database" };
    return { setting: this.config.sandbox, source: "default" };
  }
}

function toPolicyRule(row: Database["policies"]): PolicyRule {
  const { policy, position: order, account_id: accountId, key_id: keyId, model: modelId, on_failure: onFailure } = row;
  return { policy, order, accountId, keyId, modelId, onFailure };
}

function toRow({ name, enabled, priority, weight, manifest, ...row }: Database["providers"]): ProviderRow {
  return {
    name,
    isEnabled: enabled !== 0,
    priority: priority ?? undefined,
    weight: weight ?? undefined,
    usesStoredKeys: row.uses_stored_keys === 1,
    manifest: manifest ?? undefined,
    earlierManifests: row.earlier_manifests === null ? [] : (JSON.parse(row.earlier_manifests) as string[]),
    isRemoved: row.removed_at !== null,
  };
}

function toSandboxSetting(value: string | undefined): SandboxSetting | undefined {
  return value === "on" || value === "off" || value === "auto" ? value : undefined;
}
