import type { Policy, ProviderPlugin } from "../provider/index.ts";
import { contentVersion, findSources } from "./find-sources.ts";
import { type LoadCode, loadSource } from "./load-source.ts";
import type { FileProblem, PluginDirectory, PluginSource } from "./plugin-directory.ts";

const loadsAtOnce = 8;

/** A plugin file: its last version that could be loaded, and the problem of the newest version. */
export interface PluginFile {
  readonly source: PluginSource;
  readonly plugin: ProviderPlugin | undefined;
  /** Present where it is a policy in place of a plugin. */
  readonly policy: Policy | undefined;
  /** Version of the plugin's files as they were loaded. */
  readonly version: string | undefined;
  readonly loadedAt: number | undefined;
  /** One message when the newest version could not be loaded. */
  readonly error: string | undefined;
}

/** The plugins in the plugin folders, as they were when the folders were last read. */
export class PluginFiles {
  readonly #folders: readonly PluginDirectory[];
  readonly #options: { readonly loadCode: LoadCode; readonly now: () => number };
  #all: ReadonlyMap<string, PluginFile> = new Map();
  /** Files in the folders that are not plugins. */
  problems: readonly FileProblem[] = [];

  constructor(folders: readonly PluginDirectory[], options: { loadCode: LoadCode; now: () => number }) {
    this.#folders = folders;
    this.#options = options;
  }

  /** All plugin files, sorted by name, then by file. */
  get all(): readonly PluginFile[] {
    return [...this.#all.values()];
  }

  /** A text that differs whenever something in the folders does. Loads nothing. */
  fingerprint(): string {
    const parts = this.#folders
      .map(findSources)
      .flatMap(({ sources = [], problems }) => [
        ...sources.flatMap(({ label, fingerprint }) => [label, fingerprint]),
        ...problems.map(({ message }) => message),
      ]);
    return parts.join("\n");
  }

  /** Loads new and changed files, and drops removed ones. A bad file never affects the others. */
  async refresh(): Promise<void> {
    const before = this.#all;
    const problems: FileProblem[] = [];
    const sources: PluginSource[] = [];
    for (const folder of this.#folders) {
      const sourceList = findSources(folder);
      problems.push(...sourceList.problems);
      sources.push(...(sourceList.sources ?? getKnownSources(before, folder)));
    }
    sources.sort((a, b) => (a.name === b.name ? (a.label < b.label ? -1 : 1) : a.name < b.name ? -1 : 1));
    const changed = sources.filter(({ entry, fingerprint }) => before.get(entry)?.source.fingerprint !== fingerprint);
    const loaded = new Map<PluginSource, PluginFile>();
    const queue = changed.values();
    const work = async () => {
      for (const source of queue) loaded.set(source, await this.#load(source, before.get(source.entry)));
    };
    await Promise.all(Array.from({ length: loadsAtOnce }, work));
    this.#all = new Map(
      sources.map((source) => [source.entry, loaded.get(source) ?? (before.get(source.entry) as PluginFile)]),
    );
    this.problems = problems;
  }

  async #load(source: PluginSource, before: PluginFile | undefined): Promise<PluginFile> {
    try {
      const { plugin, policy } = await loadSource(source, this.#options.loadCode);
      const version = contentVersion(source);
      return { source, plugin, policy, version, loadedAt: this.#options.now(), error: undefined };
    } catch (error) {
      const { plugin, policy, version, loadedAt } = before ?? {};
      return { source, plugin, policy, version, loadedAt, error: (error as Error).message };
    }
  }
}

/** Files that a folder contained before it could no longer be read. */
function getKnownSources(before: ReadonlyMap<string, PluginFile>, folder: PluginDirectory): PluginSource[] {
  return [...before.values()].map(({ source }) => source).filter(({ label }) => label.startsWith(`${folder.label}/`));
}
