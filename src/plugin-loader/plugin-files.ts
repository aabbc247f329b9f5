import type { ProviderPlugin } from "../contract/index.ts";
import { contentVersion, findSources } from "./find-sources.ts";
import { type LoadCode, loadSource } from "./load-source.ts";
import type { FileProblem, PluginDirectory, PluginSource } from "./plugin-directory.ts";

const loadsAtOnce = 8;

/** A plugin file as it was last seen: its last version that could be loaded, and what is wrong with the newest. */
export interface PluginFile {
  readonly source: PluginSource;
  readonly plugin: ProviderPlugin | undefined;
  /** Of the plugin's files as they were loaded. */
  readonly version: string | undefined;
  readonly loadedAt: number | undefined;
  /** One sentence when the newest version could not be loaded. */
  readonly error: string | undefined;
}

/** The plugins of the drop folders, as they were last looked at. */
export class PluginFiles {
  readonly #folders: readonly PluginDirectory[];
  readonly #loadCode: LoadCode;
  readonly #now: () => number;
  #all: ReadonlyMap<string, PluginFile> = new Map();
  #problems: readonly FileProblem[] = [];

  constructor(folders: readonly PluginDirectory[], parts: { loadCode: LoadCode; now: () => number }) {
    this.#folders = folders;
    this.#loadCode = parts.loadCode;
    this.#now = parts.now;
  }

  /** By name, then by file. */
  get all(): readonly PluginFile[] {
    return [...this.#all.values()];
  }

  /** What lies in the folders and is no plugin. */
  get problems(): readonly FileProblem[] {
    return this.#problems;
  }

  /** A text that differs whenever something in the folders does. Loads nothing. */
  fingerprint(): string {
    const parts: string[] = [];
    for (const folder of this.#folders) {
      const { sources, problems } = findSources(folder);
      for (const { label, fingerprint } of sources ?? []) parts.push(label, fingerprint);
      for (const { sentence } of problems) parts.push(sentence);
    }
    return parts.join("\n");
  }

  /** Loads what is new or changed, and forgets what is gone. One bad file never stops the others. */
  async refresh(): Promise<void> {
    const before = this.#all;
    const problems: FileProblem[] = [];
    const sources: PluginSource[] = [];
    for (const folder of this.#folders) {
      const found = findSources(folder);
      problems.push(...found.problems);
      sources.push(...(found.sources ?? getKnownSources(before, folder)));
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
    this.#problems = problems;
  }

  async #load(source: PluginSource, before: PluginFile | undefined): Promise<PluginFile> {
    try {
      const plugin = await loadSource(source, this.#loadCode);
      return { source, plugin, version: contentVersion(source), loadedAt: this.#now(), error: undefined };
    } catch (error) {
      const { message } = error as Error;
      const { plugin, version, loadedAt } = before ?? {};
      return { source, plugin, version, loadedAt, error: message };
    }
  }
}

/** What a folder that cannot be read at the moment held before. */
function getKnownSources(before: ReadonlyMap<string, PluginFile>, folder: PluginDirectory): PluginSource[] {
  return [...before.values()].map(({ source }) => source).filter(({ label }) => label.startsWith(`${folder.label}/`));
}
