import { isDeepStrictEqual } from "node:util";
import type { Administrator, Audited } from "../audit/index.ts";
import { findSecretError, GatewayError } from "../contract/index.ts";
import type { Database, TransactionScope } from "../db/index.ts";
import { isLocalHost } from "../kernel/index.ts";
import { isRecord, parseJson, readJson } from "../lib/json.ts";
import { findCredentialError, formatCredential, getForm, getSecrets, type ProviderPlugin } from "../provider/index.ts";
import { checkAddresses, checkManifest } from "./check-manifest.ts";
import { readManifest } from "./manifest.ts";
import type { PluginSnapshot } from "./plugin-manager.ts";
import { fileHash, isUnchanged } from "./provider-files.ts";
import {
  keyOwnerOf,
  type ProviderChange,
  type ProviderRow,
  type ProviderSettings,
  type SandboxSetting,
  sandboxRow,
} from "./provider-settings.ts";
import { sealSecret } from "./secret-box.ts";

const keysMax = 20;
const providersMax = 200;
/** A gateway that missed more changes than this considers its file changed by an operator, and leaves it alone. */
const earlierManifestsMax = 100;
/** The last four characters of a shorter key would be too much of it. */
const shownFrom = 12;

export interface ActionsDeps {
  readonly settings: ProviderSettings;
  readonly audited: Audited;
  readonly now: () => number;
  /** The folder into which manifests are written. */
  readonly folder: string;
  /** Absent until the plugins were loaded for the first time. */
  readonly snapshot: () => Pick<PluginSnapshot, "states" | "plugins"> | undefined;
  /** Applies committed changes in this process. */
  apply(): Promise<void>;
}

type Detail = Record<string, string | number | boolean | null>;

/**
 * Actions of administrators on providers. `by` is the administrator's account, or `cli`. Each action writes an audit
 * entry without secrets.
 */
export function providerActions(deps: ActionsDeps) {
  const { settings, now } = deps;
  const change = async (by: string, [action, subject, detail]: [string, string, Detail], work: Work): Promise<void> => {
    await deps.audited(work, () => ({ accountId: by, action, subject, detail }));
    await deps.apply();
  };
  const saveKey = async (
    { db }: TransactionScope,
    { name, keyId, key, by }: Record<"name" | "keyId" | "key" | "by", string>,
  ) => {
    const sealed = await sealSecret(settings.box, db, { owner: keyOwnerOf(name, keyId), content: key });
    const values = { id: keyId, provider: name, ...sealed, last4: getLast4(key), set_by: by, set_at: now() };
    await db
      .insertInto("provider_keys")
      .values(values)
      .onConflict((conflict) => conflict.column("id").doUpdateSet(values))
      .execute();
  };
  return {
    /**
     * Adds a provider by a manifest, which becomes a file in the plugins folder of every gateway, and its first key.
     *
     * @param secret Absent: it gets its key later, or needs none.
     * @returns The id of the key.
     */
    async add(
      { accountId: by, role }: Administrator,
      name: string,
      manifest: unknown,
      secret?: unknown,
    ): Promise<string | undefined> {
      const { plugin, text } = checkManifest(name, manifest, role === "owner");
      expectFreeName(deps, name);
      const key = secret === undefined ? undefined : checkCredential({ plugin, baseUrl: undefined }, secret, role);
      const keyId = key === undefined ? undefined : crypto.randomUUID();
      const before = earlierOf(settings.rows.get(name));
      const row = { ...emptyRow, name, manifest: text, earlier_manifests: before };
      await change(
        by,
        ["provider.add", name, { base_url: plugin.baseUrl, ...(keyId !== undefined && { key: keyId }) }],
        async (scope) => {
          // Keys of another provider of this name, whose file is gone or at another gateway, were not given for this address.
          await scope.db.deleteFrom("provider_keys").where("provider", "=", name).execute();
          await saveRow(scope, row);
          if (key !== undefined && keyId !== undefined) await saveKey(scope, { name, keyId, key, by });
        },
      );
      return keyId;
    },
    /**
     * Replaces the manifest of a provider that was added here. Its keys stay where they go to the same hosts in the same form;
     * they were not given for others, and are removed.
     */
    async replaceManifest({ accountId: by, role }: Administrator, name: string, manifest: unknown): Promise<void> {
      const row = expectManaged(deps, name, "change its models on the page Models and prices, or its file");
      const { plugin, text } = checkManifest(name, manifest, role === "owner");
      if (text === row.manifest) return;
      const keepsKeys = isDeepStrictEqual(placeOf(plugin), placeOf(readManifest(readJson(row.manifest, "file"), name)));
      const detail = { base_url: plugin.baseUrl, keys_removed: !keepsKeys };
      await change(by, ["provider.replace", name, detail], async ({ db }) => {
        if (!keepsKeys) await db.deleteFrom("provider_keys").where("provider", "=", name).execute();
        await db
          .updateTable("providers")
          .set({ manifest: text, earlier_manifests: earlierOf(row) })
          .where("name", "=", name)
          .execute();
      });
    },
    /** Removes a provider that was added here, with its keys. */
    async remove(by: string, name: string): Promise<void> {
      expectManaged(deps, name, "disable it, or remove its file");
      await change(by, ["provider.remove", name, {}], async ({ db }) => {
        await db.deleteFrom("provider_keys").where("provider", "=", name).execute();
        await db
          .updateTable("providers")
          .set({ ...unset, removed_at: now() })
          .where("name", "=", name)
          .execute();
      });
    },
    /** Enables, disables or orders a provider. */
    async set(by: string, name: string, given: ProviderChange): Promise<void> {
      expectKnown(deps, name);
      const detail = JSON.parse(JSON.stringify(given)) as Detail;
      const fields = Object.fromEntries(
        Object.entries(detail).map(([field, value]) => [field, typeof value === "boolean" ? Number(value) : value]),
      );
      await change(by, ["provider.set", name, detail], ({ db }) =>
        db
          .insertInto("providers")
          .values({ ...emptyRow, name, ...fields })
          .onConflict((conflict) => conflict.column("name").doUpdateSet({ name, ...fields }))
          .execute(),
      );
    },
    /** Adds a key of a provider, or replaces the one with the id. Returns its id. */
    async setKey({ accountId: by, role }: Administrator, name: string, secret: unknown, id?: string): Promise<string> {
      const plugin = expectKnown(deps, name);
      const { baseUrl } = settings.readGiven(plugin);
      const key = checkNew(settings, name, checkCredential({ plugin, baseUrl }, secret, role), id);
      const keyId = id ?? crypto.randomUUID();
      const last4 = getLast4(key);
      const action = `provider.key.${id === undefined ? "add" : "rotate"}`;
      await change(by, [action, name, { key: keyId, last4 }], (scope) => saveKey(scope, { name, keyId, key, by }));
      return keyId;
    },
    async removeKey(by: string, name: string, id: string): Promise<void> {
      const key = findKey(settings, name, id);
      await change(by, ["provider.key.remove", name, { key: id, last4: key.last4 }], ({ db }) =>
        db.deleteFrom("provider_keys").where("id", "=", id).execute(),
      );
    },
    /** Chooses whether the sandbox stays available in addition to real providers. */
    async setSandbox(by: string, setting: SandboxSetting): Promise<void> {
      if (settings.sandbox.setting === setting) return;
      if (settings.sandbox.source === "environment") {
        throw new GatewayError("conflict", "SANDBOX is set in the environment, which decides; unset it first");
      }
      const row = { name: sandboxRow, value: setting };
      await change(by, ["sandbox.set", sandboxRow, { setting }], ({ db }) =>
        db
          .insertInto("settings")
          .values(row)
          .onConflict((conflict) => conflict.column("name").doUpdateSet(row))
          .execute(),
      );
    },
  };
}

/** The columns of a provider without settings. */
const unset = { enabled: 1, priority: null, weight: null, uses_stored_keys: null };
const emptyRow = { ...unset, manifest: null, earlier_manifests: null, removed_at: null };

/** Origin and hosts that receive a provider's keys, and the form of these keys. */
function placeOf({ baseUrl, hosts, credential }: ProviderPlugin): unknown {
  return [new URL(baseUrl).origin, [...hosts].sort(), getForm(credential)?.fields ?? credential];
}

/**
 * Returns the row of a provider that was added here and whose file has not been changed. @throws {GatewayError}
 * `conflict`
 */
function expectManaged({ settings, folder }: ActionsDeps, name: string, advice: string) {
  const row = settings.rows.get(name);
  const manifest = row?.manifest;
  if (manifest === undefined || row === undefined || row.isRemoved) {
    throw new GatewayError("conflict", `${name} was not added here; ${advice}`);
  }
  if (!isUnchanged(folder, row)) {
    throw new GatewayError("conflict", `plugins/${name}.json was changed by hand; remove that file first`);
  }
  return { ...row, manifest };
}

/** The column `earlier_manifests` once the row has another manifest. */
function earlierOf(row: ProviderRow | undefined): string | null {
  if (row?.manifest === undefined) return null;
  const hashes = [...row.earlierManifests, fileHash(row.manifest)];
  return JSON.stringify([...new Set(hashes)].slice(-earlierManifestsMax));
}

type Work = (scope: TransactionScope) => Promise<unknown>;

async function saveRow({ db }: TransactionScope, row: Database["providers"]): Promise<void> {
  await db
    .insertInto("providers")
    .values(row)
    .onConflict((conflict) => conflict.column("name").doUpdateSet(row))
    .execute();
}

function expectKnown({ snapshot }: ActionsDeps, name: string): ProviderPlugin {
  const loaded = snapshot()?.plugins.find((plugin) => plugin.name === name);
  if (loaded !== undefined) return loaded;
  throw new GatewayError("not_found", `No provider is called '${name.slice(0, 60)}'`);
}

function expectFreeName({ settings, snapshot }: ActionsDeps, name: string): void {
  if (name === "sandbox" || snapshot()?.states.some((state) => state.name === name)) {
    const message = `There is a provider called ${name} already; set its key, or choose another name`;
    throw new GatewayError("conflict", message, { param: "name" });
  }
  if (settings.rows.size < providersMax) return;
  throw new GatewayError("conflict", `There are ${providersMax} providers already; put others as files into plugins/`);
}

/**
 * Checks a key or the fields of a credential, and returns their text. Errors never show a part of a secret.
 *
 * @param secret A text, or an object of fields; the value of a field that is a document may be an object too.
 */
export function checkCredential(
  { plugin, baseUrl }: { plugin: ProviderPlugin /** That of the environment. */; baseUrl: string | undefined },
  secret: unknown,
  role: Administrator["role"],
): string {
  const form = getForm(plugin.credential);
  if (form === undefined) return checkKey(secret);
  const newFields = typeof secret === "string" ? parseJson(secret, "file") : secret;
  if (!isRecord(newFields)) {
    const names = form.fields.map(({ name }) => name).join(", ");
    throw invalid("key", `${plugin.name} has a credential with fields; expected an object with some of ${names}`);
  }
  const fields = Object.fromEntries(
    Object.entries(newFields).flatMap(([name, value]) => {
      const text = isRecord(value) ? JSON.stringify(value) : typeof value === "string" ? value.trim() : "\0";
      return text === "" ? [] : [[name, text]];
    }),
  );
  const error = findCredentialError(form, fields);
  if (error !== undefined) throw invalid(error.field, `Cannot use ${error.field}: ${error.problem}`);
  if (baseUrl === undefined && form.baseUrl !== undefined && form.baseUrl(fields) === undefined) {
    throw invalid("key", `The fields do not say where ${plugin.name} is; set what its address consists of`);
  }
  const tokenUrls = (form.tokenUrls?.(fields) ?? []).map((url) => new URL(url));
  checkAddresses(tokenUrls, role === "owner");
  if (tokenUrls.some((url) => url.protocol === "http:" && !isLocalHost(url.hostname.replace(/^\[|\]$/g, "")))) {
    throw invalid("key", "The token would be requested in clear text; use https");
  }
  return formatCredential(form, fields);
}

function invalid(param: string, message: string): GatewayError {
  return new GatewayError("invalid_request", message, { param });
}

/** Last four characters of a key; empty for a short key and for a document. */
function getLast4(key: string): string {
  const [shown = ""] = getSecrets(key);
  return shown.length < shownFrom || shown.startsWith("{") ? "" : shown.slice(-4);
}

/** Never shows the key, not even a part of it. */
function checkKey(secret: unknown): string {
  const key = typeof secret === "string" ? secret.trim() : "";
  if (!/^[\x21-\x2b\x2d-\x7e]{1,4096}$/.test(key)) {
    const message =
      "The key is empty or has a space, comma or other character that no key has; paste one key at a time";
    throw invalid("key", message);
  }
  const problem = findSecretError(key);
  if (problem !== undefined) throw invalid("key", `The key cannot be used: ${problem}`);
  return key;
}

function checkNew(settings: ProviderSettings, name: string, key: string, id: string | undefined): string {
  if (id !== undefined) findKey(settings, name, id);
  const keys = settings.keysOf(name);
  if (keys.some((other) => other.secret === key)) {
    throw new GatewayError("conflict", "This key is set already", { param: "key" });
  }
  if (id === undefined && keys.length >= keysMax) {
    throw new GatewayError("conflict", `${name} has ${keysMax} keys already; replace one of them`);
  }
  return key;
}

function findKey(settings: ProviderSettings, name: string, id: string) {
  const storedKey = settings.keysOf(name).find((key) => key.id === id);
  if (storedKey !== undefined) return storedKey;
  throw new GatewayError("not_found", `${name} has no key with this id; it may have been removed`);
}
