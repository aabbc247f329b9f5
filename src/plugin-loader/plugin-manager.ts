import type { ProviderPlugin } from "../contract/index.ts";
import {
  buildRegistry,
  type Credential,
  type Log,
  type Refusal,
  type Registry,
  type RegistryMemory,
} from "../kernel/index.ts";
import { type Choice, choosePlugins, type SandboxOptions } from "./choose-plugins.ts";
import type { LoadCode } from "./load-source.ts";
import { Overrides } from "./overrides.ts";
import type { PluginDirectory } from "./plugin-directory.ts";
import { type PluginFile, PluginFiles } from "./plugin-files.ts";
import { countRoutes, type PluginState, refusedState, stateOf } from "./plugin-state.ts";

/** The name of the plugin that simulates the others. */
const sandboxName = "sandbox";

/** What the stock stands on. */
export interface PluginManagerOptions {
  readonly builtIns: readonly ProviderPlugin[];
  readonly pluginFolders: readonly PluginDirectory[];
  readonly catalogueFolder: PluginDirectory;
  readonly sandbox: SandboxOptions;
  /** @throws When what the operator wrote for this plugin cannot be used. */
  credentialsOf(pluginName: string): Credential;
  readonly loadCode: LoadCode;
  readonly log: Log;
  readonly now: () => number;
}

/** All that is on sale at one moment, and what is not and why. Immutable. */
export interface PluginSnapshot {
  readonly registry: Registry;
  readonly sandbox: boolean;
  readonly states: readonly PluginState[];
  /** One sentence a fault; none of them stops anything else. */
  readonly warnings: readonly string[];
  /** Every plugin that could be loaded, served or not, with the operator's own rows. */
  readonly plugins: readonly ProviderPlugin[];
}

/** A loaded plugin and the file it came from; none when it is compiled in. */
interface Candidate {
  readonly plugin: ProviderPlugin;
  readonly drop: PluginFile | undefined;
  /** Whether the operator's rows are in it already, or left out because they were refused. */
  readonly isMerged?: boolean;
}

/**
 * Everything that can be sold: the plugins compiled in, those in the drop folders, and the operator's own catalogue.
 * Each look at the folders makes a new shelf, or none when nothing has changed.
 */
export class PluginManager {
  readonly #ground: PluginManagerOptions;
  readonly #dropIns: PluginFiles;
  readonly #overrides: Overrides;
  readonly #memory: RegistryMemory = new Map();
  /** The last version of each drop-in that was sold, by file. */
  #sold: ReadonlyMap<string, ProviderPlugin> = new Map();
  #said = new Set<string>();

  constructor(ground: PluginManagerOptions) {
    this.#ground = ground;
    this.#dropIns = new PluginFiles(ground.pluginFolders, ground);
    this.#overrides = new Overrides(ground.catalogueFolder);
  }

  /** A text that differs whenever something in the folders does. */
  stamp(): string {
    return `${this.#dropIns.stamp()}\n${this.#overrides.stamp()}`;
  }

  /** Looks at the folders and puts together what they hold now. */
  async load(): Promise<PluginSnapshot> {
    await this.#dropIns.refresh();
    this.#overrides.refresh();
    const snapshot = this.#compose();
    this.#tell(snapshot);
    return snapshot;
  }

  #compose(): PluginSnapshot {
    const errors = new Map<string, string>();
    const duplicates: PluginState[] = [];
    const candidates = this.#candidates(errors, duplicates);
    let built = this.#build(candidates, errors);
    const settled = this.#rollback(candidates, built.refused, errors);
    if (settled !== undefined) built = this.#build(settled, errors);
    const { plugins, choice, registry, refused, warnings } = built;
    this.#memory.registry = registry;
    const current = settled ?? candidates;
    for (const { plugin, sentence } of refused) if (!errors.has(plugin.name)) errors.set(plugin.name, sentence);
    const routes = countRoutes(registry);
    for (const name of this.#memory.keys()) if (!routes.has(name)) this.#memory.delete(name);
    const states = current.map(({ plugin, drop }) => {
      const state = stateOf(plugin, drop, routes.get(plugin.name) ?? 0, {
        keys: this.#keysOf(plugin.name),
        sandbox: choice.plugins.every(({ name }) => name !== plugin.name) && choice.plugins.some(isSandbox),
        error: errors.get(plugin.name),
      });
      return drop !== undefined && state.status === "no_credential" ? { ...state, error: keyless(state) } : state;
    });
    this.#sold = new Map(
      current.flatMap(({ plugin, drop }) => (drop && routes.has(plugin.name) ? [[drop.source.entry, plugin]] : [])),
    );
    const unloadable = this.#unloadable(current, duplicates);
    const ownErrors = [...states, ...unloadable].flatMap(({ error }) => (error === null ? [] : [error]));
    return {
      registry,
      sandbox: choice.sandbox,
      states: [...states, ...unloadable],
      warnings: [...new Set([...ownErrors, ...warnings])],
      plugins,
    };
  }

  /** One plugin a name: a compiled-in one goes before a file, and a file that is sold already before a newcomer. */
  #candidates(errors: Map<string, string>, duplicates: PluginState[]): Candidate[] {
    const byName = new Map<string, Candidate>();
    for (const plugin of this.#ground.builtIns) byName.set(plugin.name, { plugin, drop: undefined });
    const isSold = ({ source }: PluginFile) => this.#sold.has(source.entry);
    const drops = [...this.#dropIns.all].sort((a, b) => Number(isSold(b)) - Number(isSold(a)));
    for (const drop of drops) {
      const { name, label } = drop.source;
      const twin = byName.get(name);
      if (twin !== undefined || name === sandboxName) {
        const other = twin?.drop === undefined ? "a built-in plugin" : twin.drop.source.label;
        const sentence = `Cannot load ${label}: the name ${name} belongs to ${other}; rename one of the two`;
        duplicates.push(refusedState(name, label, sentence));
      } else if (drop.plugin !== undefined) {
        byName.set(name, { plugin: drop.plugin, drop });
        if (drop.error !== undefined) errors.set(name, drop.error);
      }
    }
    return [...byName.values()];
  }

  #build(candidates: readonly Candidate[], errors: Map<string, string>) {
    const { plugins: merged, faults } = this.#overrides.apply(candidates.map(({ plugin }) => plugin));
    const plugins = merged.map((plugin, index) => {
      const candidate = candidates[index] as Candidate;
      return candidate.isMerged ? candidate.plugin : plugin;
    });
    const credentials = new Map(plugins.map(({ name }) => [name, this.#credentialOf(name, errors)]));
    const hasKey = ({ name }: ProviderPlugin) => (credentials.get(name)?.keys.length ?? 0) > 0;
    const usable = plugins.filter(({ name }) => credentials.get(name) !== undefined);
    const choice: Choice = choosePlugins(usable, hasKey, this.#ground.sandbox);
    const files = new Map(candidates.map(({ plugin, drop }) => [plugin.name, drop?.source.label]));
    const labelOf = (name: string) => {
      const file = files.get(name) ?? `the built-in plugin '${name}'`;
      return [file, ...this.#overrides.labelsOf(name)].join(" with ");
    };
    const { registry, refused } = buildRegistry(choice.plugins, (name) => credentials.get(name), this.#memory, labelOf);
    const warnings = [...this.#dropIns.faults, ...faults].map(({ sentence }) => sentence);
    return { plugins, choice, registry, refused, warnings };
  }

  /** Puts the version before, or one without the operator's rows, in the place of one that disagrees with what is sold. */
  #rollback(
    candidates: readonly Candidate[],
    refused: readonly Refusal[],
    errors: Map<string, string>,
  ): readonly Candidate[] | undefined {
    const sentences = new Map(refused.map(({ plugin, sentence }) => [plugin.name, sentence]));
    let changed = false;
    const settled = candidates.map((candidate) => {
      const { plugin, drop } = candidate;
      const sentence = sentences.get(plugin.name);
      if (sentence === undefined) return candidate;
      const rows = this.#overrides.labelsOf(plugin.name);
      if (rows.length > 0 && !candidate.isMerged) {
        errors.set(plugin.name, `Cannot use ${rows.join(" and ")}: ${sentence}`);
        changed = true;
        return { plugin: this.#memory.get(plugin.name)?.plugin ?? plugin, drop, isMerged: true };
      }
      if (drop === undefined) return candidate;
      const before = this.#sold.get(drop.source.entry);
      errors.set(plugin.name, `Cannot load ${drop.source.label}: ${sentence}`);
      if (before === undefined || before === plugin) return candidate;
      changed = true;
      return { plugin: before, drop };
    });
    return changed ? settled : undefined;
  }

  #credentialOf(name: string, errors: Map<string, string>): Credential | undefined {
    try {
      return this.#ground.credentialsOf(name);
    } catch (error) {
      errors.set(name, (error as Error).message);
      return undefined;
    }
  }

  #keysOf(name: string): number {
    const credential = this.#credentialOf(name, new Map());
    return credential === undefined ? 0 : credential.keys.length;
  }

  /** Files of which no version could ever be loaded, and those whose name is taken. */
  #unloadable(current: readonly Candidate[], duplicates: readonly PluginState[]): PluginState[] {
    const shown = new Set(current.map(({ drop }) => drop?.source.entry));
    const failed = this.#dropIns.all.filter(({ source, error }) => error !== undefined && !shown.has(source.entry));
    return [
      ...duplicates,
      ...this.#dropIns.faults.map(({ label, sentence }) => refusedState(nameOf(label), label, sentence)),
      ...failed.map(({ source, error }) => refusedState(source.name, source.label, error as string)),
    ];
  }

  /** Says each thing once, when it begins. */
  #tell(snapshot: PluginSnapshot): void {
    const { log } = this.#ground;
    const said = new Set<string>();
    for (const sentence of snapshot.warnings) {
      said.add(sentence);
      if (!this.#said.has(sentence)) log.error("plugin_refused", { sentence });
    }
    for (const { origin, name, status, models, loaded_at } of snapshot.states) {
      if (origin === "built in" || status === "refused" || status === "no_credential") continue;
      const key = `${origin} ${status} ${loaded_at}`;
      said.add(key);
      if (!this.#said.has(key)) log.info("plugin_loaded", { plugin: name, file: origin, models, status });
    }
    this.#said = said;
  }
}

function keyless({ name, origin }: PluginState): string {
  const variable = `${name.toUpperCase().replaceAll("-", "_")}_API_KEY`;
  return `Cannot serve ${origin}: it has no key; set ${variable} and start again, or credential to none in the plugin`;
}

/** `plugins/acme.yaml` → `acme`. */
function nameOf(label: string): string {
  return label.slice(label.lastIndexOf("/") + 1).replace(/\.\w+$/, "");
}

function isSandbox({ name }: ProviderPlugin): boolean {
  return name === sandboxName;
}
