import { parse } from "node:path";
import {
  buildRegistry,
  type Credential,
  type Log,
  type Refusal,
  type Registry,
  type RegistryMemory,
  type ResumedRoutes,
  resumeRoutes,
} from "../kernel/index.ts";
import { getDisplayName, getRetirement, noticeDays, type Policy, type ProviderPlugin } from "../provider/index.ts";
import { AbsenceLog, AbsentModels } from "./absent-models.ts";
import { choosePlugins, type PluginChoices, type SandboxOptions } from "./choose-plugins.ts";
import type { LoadCode } from "./load-source.ts";
import { readManifest } from "./manifest.ts";
import { listLayers, type ModelLayers, withoutDisabled } from "./model-layers.ts";
import { Overrides } from "./overrides.ts";
import type { PluginDirectory } from "./plugin-directory.ts";
import { type PluginFile, PluginFiles } from "./plugin-files.ts";
import {
  countRoutes,
  describePlugin,
  describeRefused,
  explainMissingKey,
  explainUnreadableKeys,
  type PluginState,
  type PluginStatus,
} from "./plugin-state.ts";
import { type CheckHost, type Fetch, UnlistedModels } from "./unlisted-models.ts";
import { VirtualModels } from "./virtual-models.ts";

/** Simulates the others. */
const sandboxName = "sandbox";

/** Options of {@link PluginManager}. */
export interface PluginManagerOptions {
  readonly builtIns: readonly ProviderPlugin[];
  /** Ready manifests, by name: each is a plugin where the environment says where its server is, unless a file has its name. */
  readonly manifests?: Readonly<Record<string, unknown>> | undefined;
  readonly pluginFolders: readonly PluginDirectory[];
  readonly catalogueFolder: PluginDirectory;
  readonly sandbox: SandboxOptions;
  /** @throws When the operator's settings for this plugin are invalid. */
  readCredentials(plugin: Pick<ProviderPlugin, "name" | "credential">): Credential;
  /** Administrators' settings; absent: every plugin is enabled and has its own order. */
  readonly choices?: PluginChoices | undefined;
  readonly loadCode: LoadCode;
  readonly log: Log;
  readonly now: () => number;
  /** Asks providers for their models; absent: unlisted models are not found. */
  readonly fetch?: Fetch;
  /** Throws unless the models of a host may be listed; absent: every host is allowed. */
  readonly checkHost?: CheckHost;
  /** The ids of models that were called lately; absent: no models. */
  readonly usedModels?: (() => Promise<ReadonlySet<string>>) | undefined;
}

/** Plugins served at one moment, and the plugins that are not served, with the reason. Immutable. */
export interface PluginSnapshot {
  readonly registry: Registry;
  readonly sandbox: boolean;
  /** Whether a real provider is configured, although it may serve nothing now. */
  readonly isConfigured: boolean;
  readonly states: readonly PluginState[];
  /** One message per problem; a problem of one file does not affect the others. */
  readonly warnings: readonly string[];
  /** Every plugin that could be loaded, served or not, with the operator's own rows. */
  readonly plugins: readonly ProviderPlugin[];
  /** The policies of the folders, by name. */
  readonly policies: ReadonlyMap<string, Policy>;
}

/** A loaded plugin and the file it came from; absent when it is compiled in. */
interface Candidate {
  readonly plugin: ProviderPlugin;
  readonly file: PluginFile | undefined;
  /** Whether the operator's rows are in it already, or left out because they were refused. */
  readonly isMerged?: boolean;
}

/** Providers that will have been added, replaced or removed. */
export interface PlannedProviders {
  readonly added: readonly ProviderPlugin[];
  /** Their names. */
  readonly removed: readonly string[];
}

/** Combines compiled-in plugins, plugins of the plugin folders, and the operator's own catalogue. */
export class PluginManager {
  readonly #options: PluginManagerOptions;
  readonly #files: PluginFiles;
  readonly #ready: readonly ProviderPlugin[];
  readonly #overrides: Overrides;
  readonly #unlisted: UnlistedModels;
  readonly #virtual: VirtualModels;
  readonly #memory: RegistryMemory = new Map();
  /** The last version of each plugin file that was served, by file. */
  #active: ReadonlyMap<string, ProviderPlugin> = new Map();
  /** Messages logged about the last snapshot. */
  #reported = new Set<string>();
  /** Plugins whose providers had not listed their models at the last snapshot. */
  #notListed: ReadonlySet<string> = new Set();
  #wasSandbox = false;
  /** Ends of models that were logged on a day. */
  #retirements = { day: "", reported: new Set<string>() };
  readonly #absences: AbsenceLog;
  #loading: Promise<unknown> = Promise.resolve();

  constructor(options: PluginManagerOptions) {
    this.#options = options;
    this.#files = new PluginFiles(options.pluginFolders, options);
    this.#ready = Object.entries(options.manifests ?? {}).map(([name, manifest]) => readManifest(manifest, name));
    this.#overrides = new Overrides(options.catalogueFolder);
    this.#unlisted = new UnlistedModels(options);
    this.#virtual = new VirtualModels(options.catalogueFolder);
    this.#absences = new AbsenceLog(options.log);
  }

  /** A text that differs whenever something in the folders does, on a new day, and when other unlisted models were found. */
  fingerprint(): string {
    return [this.#files, this.#overrides, this.#unlisted].map((part) => part.fingerprint()).join("\n") + this.#day;
  }

  /** Reads the folders and combines their current content. Calls run one after the other. */
  load(): Promise<PluginSnapshot> {
    const loading = this.#loading.then(() => this.#load());
    this.#loading = loading.catch(() => undefined);
    return loading;
  }

  /**
   * Lists the models of providers that may have these names.
   *
   * @returns Whether the models have changed and {@link load} is due; `undefined` when no provider is queried.
   */
  lookFor(names: readonly string[]): Promise<boolean> | undefined {
    return this.#unlisted.lookFor(names);
  }

  /** Takes a provider's routes back into use, or that of one model. */
  resume(routes: ResumedRoutes): void {
    resumeRoutes(this.#memory, routes);
  }

  /** Layers of each model: from its plugin, from a signed file and from the operator. */
  layers(): ModelLayers[] {
    const candidates = this.#chooseCandidates(new Map(), []).map(({ plugin }) => plugin);
    return listLayers(
      candidates,
      this.#overrides.files,
      this.#unlisted.extend(this.#overrides.apply(candidates).plugins),
    );
  }

  /** Previews the plugins with another folder of operator's rows, and its errors; changes nothing. */
  preview(
    folder: PluginDirectory,
    { added, removed }: PlannedProviders = { added: [], removed: [] },
  ): { plugins: readonly ProviderPlugin[]; problems: string[] } {
    const overrides = new Overrides(folder);
    overrides.refresh();
    const replacedNames = new Set([...removed, ...added.map(({ name }) => name)]);
    const candidates = [
      ...this.#chooseCandidates(new Map(), []).filter(({ plugin }) => !replacedNames.has(plugin.name)),
      ...added.map((plugin) => ({ plugin, file: undefined })),
    ];
    const build = (rows: Overrides) => {
      const memory: RegistryMemory = new Map();
      if (this.#memory.registry !== undefined) memory.registry = this.#memory.registry;
      return this.#build(candidates, new Map(), rows, memory);
    };
    const [before, after] = [build(this.#overrides), build(overrides)];
    const messages = new Set(before.refused.map(({ message }) => message));
    const refused = after.refused.filter(({ message }) => !messages.has(message));
    const faults = refused.map(({ plugin, message }) => overrides.blame(plugin.name, message));
    const { problems } = overrides.apply(candidates.map(({ plugin }) => plugin));
    const virtual = new VirtualModels(folder);
    virtual.refresh();
    const { isAwaited } = this.#createAbsent(after.plugins, () => undefined);
    const all = [...problems, ...virtual.apply(after.registry, after.plugins, isAwaited).problems];
    return { plugins: after.plugins, problems: [...all.map(({ message }) => message), ...faults] };
  }

  async #load(): Promise<PluginSnapshot> {
    await this.#files.refresh();
    this.#overrides.refresh();
    this.#virtual.refresh();
    await this.#discover();
    const snapshot = this.#compose();
    this.#report(snapshot);
    return snapshot;
  }

  get #day(): string {
    return new Date(this.#options.now()).toISOString().slice(0, 10);
  }

  async #discover(): Promise<void> {
    const candidates = this.#chooseCandidates(new Map(), []).map(({ plugin }) => plugin);
    await this.#unlisted.discover(this.#overrides.apply(candidates).plugins, (plugin) => {
      const { keys, baseUrl } = this.#readCredential(plugin) ?? { keys: [] };
      if (plugin.credential !== "none" && keys.length === 0) return undefined;
      return { baseUrl: baseUrl ?? plugin.baseUrl, isBaseUrlGiven: baseUrl !== undefined, key: keys[0] };
    });
  }

  #readCredential(plugin: ProviderPlugin): Credential | undefined {
    try {
      return this.#options.readCredentials(plugin);
    } catch {
      // The plugin's state describes the problem.
      return undefined;
    }
  }

  #compose(): PluginSnapshot {
    const errors = new Map<string, string>();
    const duplicates: PluginState[] = [];
    const candidates = this.#chooseCandidates(errors, duplicates);
    const first = this.#build(candidates, errors);
    const rolledBack = this.#rollback(candidates, first.refused, errors);
    const current = rolledBack ?? candidates;
    const built = rolledBack === undefined ? first : this.#build(rolledBack, errors);
    const { plugins, choice, credentials } = built;
    const statuses = new Map<string, PluginStatus>();
    const absent = this.#createAbsent(plugins, (name) => statuses.get(name));
    const { reroutes = [], markups, policyRules = [] } = this.#options.choices ?? {};
    const policies = this.#choosePolicies(duplicates);
    const priced = markups === undefined ? built.registry : built.registry.withMarkups(markups);
    const served = priced.withAbsence(absent.explain);
    const { registry: named, problems } = this.#virtual.apply(served, plugins, absent.isAwaited);
    const registry = named.withReroutes(reroutes, plugins).withPolicies(policyRules, policies);
    this.#memory.registry = registry;
    for (const { plugin, message } of built.refused) if (!errors.has(plugin.name)) errors.set(plugin.name, message);
    const routes = countRoutes(registry);
    for (const name of this.#memory.keys()) if (!routes.has(name)) this.#memory.delete(name);
    const servedNames = new Set(choice.plugins.map(({ name }) => name));
    const loaded = current.map(({ plugin, file }) => {
      const { name } = plugin;
      const isUnreadable = this.#options.choices?.hasUnreadableKeys(name) === true;
      const sandbox = servedNames.has(sandboxName) && !servedNames.has(name) && !isUnreadable;
      const keys = credentials.get(name)?.keys.length ?? 0;
      const error = errors.get(name);
      const enabled = this.#options.choices?.isEnabled(name) ?? true;
      const hasKey = plugin.credential === "none" || keys > 0;
      const facts = { plugin, file, routes: routes.get(name) ?? 0, keys, hasKey, sandbox, enabled, error };
      const state = describePlugin(facts);
      return { ...state, error: error ?? this.#explainIdle(plugin, state, file) ?? null };
    });
    this.#active = new Map(
      current.flatMap(({ plugin, file }) => (file && routes.has(plugin.name) ? [[file.source.entry, plugin]] : [])),
    );
    for (const { name, status } of loaded) statuses.set(name, status);
    const states = [...loaded, ...duplicates, ...this.#findUnloadable(current)];
    const errorsOfStates = states.flatMap(({ error }) => error ?? []);
    const warnings = [...new Set([...errorsOfStates, ...built.warnings, ...problems.map(({ message }) => message)])];
    const isConfigured = choice.isConfigured || states.some(({ status }) => status === "disabled");
    return { registry, sandbox: choice.sandbox, isConfigured, states, warnings, plugins, policies };
  }

  #createAbsent(
    plugins: readonly ProviderPlugin[],
    statusOf: (name: string) => PluginStatus | undefined,
  ): AbsentModels {
    const report = (fields: Parameters<AbsenceLog["add"]>[1]) => this.#absences.add(this.#day, fields);
    return new AbsentModels({ awaited: this.#unlisted.awaited, plugins, statusOf, report });
  }

  /** Why a configured provider serves nothing; `undefined` for other providers. */
  #explainIdle(
    plugin: ProviderPlugin,
    { name, status, origin }: PluginState,
    file: PluginFile | undefined,
  ): string | undefined {
    const { choices } = this.#options;
    if (status === "no_models") return this.#unlisted.problemOf(name);
    if (status !== "no_credential") return undefined;
    if (choices?.hasUnreadableKeys(name) === true) return explainUnreadableKeys(name);
    if (file === undefined) return undefined;
    return explainMissingKey(plugin, origin);
  }

  /** One plugin per name: compiled-in ones first, then files that are served already, new files, and ready manifests. */
  #chooseCandidates(errors: Map<string, string>, duplicates: PluginState[]): Candidate[] {
    const byName = new Map<string, Candidate>();
    for (const plugin of this.#options.builtIns) byName.set(plugin.name, { plugin, file: undefined });
    const isActive = ({ source }: PluginFile) => this.#active.has(source.entry);
    const plugins = this.#files.all.filter(({ policy }) => policy === undefined);
    for (const file of plugins.toSorted((a, b) => Number(isActive(b)) - Number(isActive(a)))) {
      const { name, label } = file.source;
      const other = byName.get(name);
      if (other !== undefined || name === sandboxName) {
        const owner = other?.file?.source.label ?? "a built-in plugin";
        const message = `Cannot load ${label}: the name ${name} belongs to ${owner}; rename one of the two`;
        duplicates.push(describeRefused(name, label, message));
      } else if (file.plugin !== undefined) {
        byName.set(name, { plugin: file.plugin, file });
        if (file.error !== undefined) errors.set(name, file.error);
      }
    }
    for (const plugin of this.#ready) {
      const isThere = this.#readCredential(plugin)?.baseUrl !== undefined;
      if (isThere && !byName.has(plugin.name)) byName.set(plugin.name, { plugin, file: undefined });
    }
    return [...byName.values()];
  }

  /** One policy per name: the policy of the first file. */
  #choosePolicies(duplicates: PluginState[]): ReadonlyMap<string, Policy> {
    const files = new Map<string, PluginFile>();
    const policies = new Map<string, Policy>();
    for (const file of this.#files.all) {
      const { source, policy } = file;
      if (policy === undefined) continue;
      const other = files.get(policy.name);
      if (other === undefined) policies.set(policy.name, policy);
      else {
        const message = `Cannot load ${source.label}: the policy ${policy.name} belongs to ${other.source.label}; rename one of the two`;
        duplicates.push(describeRefused(policy.name, source.label, message));
      }
      files.set(policy.name, other ?? file);
    }
    return policies;
  }

  #build(
    candidates: readonly Candidate[],
    errors: Map<string, string>,
    overrides: Overrides = this.#overrides,
    memory: RegistryMemory = this.#memory,
  ) {
    const { plugins: merged, problems } = overrides.apply(candidates.map(({ plugin }) => plugin));
    const listed = candidates.map(({ plugin, isMerged }, index) => (isMerged ? plugin : (merged[index] ?? plugin)));
    const plugins = this.#unlisted.extend(listed).map(withoutDisabled);
    const credentials = new Map<string, Credential>();
    for (const plugin of plugins) {
      try {
        credentials.set(plugin.name, this.#options.readCredentials(plugin));
      } catch (error) {
        errors.set(plugin.name, (error as Error).message);
      }
    }
    const hasKey = ({ name }: ProviderPlugin) => (credentials.get(name)?.keys.length ?? 0) > 0;
    const usable = plugins.filter(({ name }) => credentials.has(name));
    const { choices } = this.#options;
    const isEnabled = ({ name }: ProviderPlugin) => choices?.isEnabled(name) ?? true;
    const hasUnreadableKeys = ({ name }: ProviderPlugin) => choices?.hasUnreadableKeys(name) ?? false;
    const isBroken = this.#isBroken(errors);
    const conditions = { hasKey, isEnabled, hasUnreadableKeys, isBroken };
    const chosen = choosePlugins(usable, conditions, this.#options.sandbox);
    const choice = { ...chosen, plugins: chosen.plugins.map((plugin) => choices?.reorder(plugin) ?? plugin) };
    const files = new Map(candidates.map(({ plugin, file }) => [plugin.name, file?.source.label]));
    const labelOf = (name: string) =>
      [files.get(name) ?? `the built-in plugin '${name}'`, ...overrides.labelsOf(name)].join(" with ");
    const { registry, refused } = buildRegistry(choice.plugins, (name) => credentials.get(name), memory, labelOf);
    const warnings = [...this.#files.problems, ...problems, ...this.#unlisted.problems].map(({ message }) => message);
    return { plugins, choice, registry, refused, warnings, credentials };
  }

  /**
   * Whether a file of a provider cannot be used. A bad file that is added to a running sandbox does not end the sandbox.
   */
  #isBroken(errors: ReadonlyMap<string, string>): boolean {
    if (this.#wasSandbox) return false;
    const isUnloadable =
      this.#files.all.some(({ plugin, policy }) => plugin === undefined && policy === undefined) ||
      this.#files.problems.length > 0;
    return isUnloadable || errors.size > 0;
  }

  /**
   * Replaces plugins that the registry refused with the served versions, or leaves out the operator's rows; `undefined`
   * if no plugin was refused.
   */
  #rollback(
    candidates: readonly Candidate[],
    refused: readonly Refusal[],
    errors: Map<string, string>,
  ): readonly Candidate[] | undefined {
    const messages = new Map(refused.map(({ plugin, message }) => [plugin.name, message]));
    const result = candidates.map((candidate) => {
      const { plugin, file } = candidate;
      const message = messages.get(plugin.name);
      if (message === undefined) return candidate;
      if (this.#overrides.labelsOf(plugin.name).length > 0) {
        errors.set(plugin.name, this.#overrides.blame(plugin.name, message));
        return { plugin: this.#memory.get(plugin.name)?.plugin ?? plugin, file, isMerged: true };
      }
      if (file === undefined) return candidate;
      errors.set(plugin.name, `Cannot load ${file.source.label}: ${message}`);
      const before = this.#active.get(file.source.entry);
      return before === undefined || before === plugin ? candidate : { plugin: before, file };
    });
    return result.some((candidate, index) => candidate !== candidates[index]) ? result : undefined;
  }

  /** Finds files without any version that could be loaded. */
  #findUnloadable(current: readonly Candidate[]): PluginState[] {
    const shown = new Set(current.map(({ file }) => file?.source.entry));
    return [
      ...this.#files.problems.map(({ label, message }) => describeRefused(parse(label).name, label, message)),
      ...this.#files.all.flatMap(({ source, error }) =>
        error === undefined || shown.has(source.entry) ? [] : [describeRefused(source.name, source.label, error)],
      ),
    ];
  }

  /** Logs each change once. */
  #report({ warnings, states, registry, sandbox, policies }: PluginSnapshot): void {
    const { log } = this.#options;
    if (this.#wasSandbox && !sandbox) {
      const serving = states.filter(({ status }) => status === "serving").map(({ name }) => name);
      log.warn("sandbox_ended", { plugins: serving, reason: "their models alone are served from now on" });
    }
    this.#wasSandbox = sandbox;
    const reported = new Set(warnings);
    if (!sandbox) this.#reportRetirements(registry);
    const unlisted = new Map(this.#unlisted.problems.map(({ label, message }) => [message, label]));
    for (const message of warnings) {
      if (this.#reported.has(message)) continue;
      const plugin = unlisted.get(message);
      if (plugin === undefined) log.error("plugin_refused", { message });
      else log.warn("models_not_listed", { plugin, message });
    }
    for (const { name, routes } of states) {
      const isListed = this.#notListed.has(name) && this.#unlisted.problemOf(name) === undefined;
      if (isListed) log.info("models_listed", { plugin: name, models: routes });
    }
    this.#notListed = new Set(unlisted.values());
    for (const { origin, name, status, models, loaded_at } of states) {
      if (origin === "built in" || status === "refused" || status === "no_credential") continue;
      const key = `${origin} ${status} ${loaded_at}`;
      reported.add(key);
      if (!this.#reported.has(key)) log.info("plugin_loaded", { plugin: name, file: origin, models, status });
    }
    for (const { name, version } of policies.values()) {
      const key = `policy ${name} ${version} ${this.#files.all.find(({ policy }) => policy?.name === name)?.loadedAt}`;
      reported.add(key);
      if (!this.#reported.has(key)) log.info("policy_loaded", { policy: name, version });
    }
    this.#reported = reported;
  }

  /** Logs once a day how many models their providers end soon, and each of them that was called lately. */
  #reportRetirements(registry: Registry): void {
    const { log, now, usedModels } = this.#options;
    const day = this.#day;
    if (this.#retirements.day !== day) this.#retirements = { day, reported: new Set() };
    const { reported } = this.#retirements;
    const report = (key: string, write: () => void) => {
      if (!reported.has(key)) write();
      reported.add(key);
    };
    const retiring = [...registry.modelEntries].filter(({ model }) => getRetirement(model, now()) === "soon");
    if (retiring.length === 0) return;
    const counts = { models: retiring.length, of: registry.size, within_days: noticeDays };
    report("", () => log.warn("models_retire", { ...counts, see: "modelgate catalogue check" }));
    // The snapshot is served without waiting for the database.
    usedModels?.().then(
      (used) => {
        for (const { model, routes } of retiring.filter(({ model }) => used.has(model.id))) {
          const { id, retiredOn: on, successor } = model;
          const fields = { model: getDisplayName(model), plugin: routes[0]?.plugin.name, on, successor };
          report(id, () => log.warn("model_retires", fields));
        }
      },
      (error) => log.warn("used_models_not_read", { error }),
    );
  }
}
