import { createHash } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { isRecord } from "../lib/json.ts";
import type { Model, ProviderPlugin } from "../provider/index.ts";
import { PluginError } from "../sdk/errors.ts";
import { type CatalogueFiles, virtualName } from "./catalogue-files.ts";
import { compareModels } from "./compare-models.ts";
import type { ModelLayers } from "./model-layers.ts";
import { listFolder, type PluginDirectory } from "./plugin-directory.ts";
import type { PlannedProviders, PluginManager } from "./plugin-manager.ts";
import { parseFile, readTextFile } from "./read-files.ts";
import { prepareFile } from "./write-file.ts";

/** Content of the operator's files at one moment. */
export interface OperatorCatalogue {
  /** Differs whenever one of the files does. */
  readonly revision: string;
  readonly files: CatalogueFiles;
}

/** A change of the operator's files that can be written. */
export interface CatalogueChange {
  /** The files that it writes or removes. */
  readonly files: readonly string[];
  /** Changed models, one line each: `openai: ~ gpt-5: premium false → true`. */
  readonly models: readonly string[];
  /** Writes it. @throws {PluginError} When a file cannot be written. */
  write(): void;
}

/** Files of the folder, by name without `.json`. */
type KnownFiles = ReadonlyMap<string, { text: string; value: unknown; isSigned: boolean }>;

/** A file name, without `.json`, that is valid in every file system. */
const nameForm = /^[\p{L}\p{N}][\p{L}\p{N} ._-]{0,99}$/u;

/** Reads and writes the operator's files as one document. A file of `catalogue update` is not part of it. */
export class OperatorCatalogueEditor {
  readonly #manager: PluginManager;
  readonly #folder: PluginDirectory;
  /** Loads the current content of the folder and serves it. */
  readonly reload: () => Promise<void>;

  constructor(manager: PluginManager, folder: PluginDirectory, reload: () => Promise<void>) {
    this.#manager = manager;
    this.#folder = folder;
    this.reload = reload;
  }

  layers(): ModelLayers[] {
    return this.#manager.layers();
  }

  /** @throws {PluginError} When a file cannot be read: it would be lost if the document were written back. */
  read(): OperatorCatalogue {
    const texts = [...this.#readTexts()].filter(([, { isSigned }]) => !isSigned);
    const hash = createHash("sha256").update(JSON.stringify(texts.map(([name, { text }]) => [name, text])));
    const files = Object.fromEntries(texts.map(([name, { value }]) => [name, value]));
    return { revision: hash.digest("base64url").slice(0, 22), files };
  }

  /**
   * Checks a whole document as the gateway would read it, with the providers that it will have.
   *
   * @throws {PluginError} With the file, the place and what to do.
   */
  check(files: CatalogueFiles, planned?: PlannedProviders): CatalogueChange {
    const texts = this.#readTexts();
    const fresh = new Map(Object.entries(files).map(([name, value]) => [name, this.#toText(name, value, texts)]));
    const trial = mkdtempSync(join(tmpdir(), "modelgate-catalogue-"));
    try {
      for (const [name, { text, isSigned }] of texts) {
        if (isSigned) writeFileSync(join(trial, `${name}.json`), text);
      }
      for (const [name, text] of fresh) writeFileSync(join(trial, `${name}.json`), text);
      const now = this.#manager.preview(this.#folder, planned).plugins;
      const { plugins, problems } = this.#manager.preview({ ...this.#folder, path: trial }, planned);
      if (problems[0] !== undefined) throw new PluginError(problems[0]);
      const before = new Map(now.map((plugin) => [plugin.name, plugin]));
      const models = plugins.flatMap((plugin) =>
        compareModels(toRows(before.get(plugin.name)), toRows(plugin)).map((line) => `${plugin.name}: ${line}`),
      );
      models.push(...compareVirtual(texts.get(virtualName)?.value, files[virtualName]));
      const own = [...texts].filter(([, { isSigned }]) => !isSigned);
      const changed = [...fresh].filter(([name, text]) => !isSame(texts.get(name)?.value, JSON.parse(text)));
      const removed = own.map(([name]) => name).filter((name) => !fresh.has(name));
      const names = [...changed.map(([name]) => name), ...removed];
      return { files: names.map((name) => `${name}.json`), models, write: () => this.#write(changed, removed) };
    } finally {
      rmSync(trial, { recursive: true, force: true });
    }
  }

  #toText(name: string, value: unknown, files: KnownFiles): string {
    const label = `${this.#folder.label}/${name}.json`;
    if (!nameForm.test(name)) {
      throw new PluginError(
        `Cannot use the file name ${JSON.stringify(name)}: expected a provider's name without .json, such as openai`,
      );
    }
    if (files.get(name)?.isSigned || (isRecord(value) && value.plugins !== undefined)) {
      const advice = "give your own rows a file of another name, and take signed files by modelgate catalogue update";
      throw new PluginError(`Cannot use ${label}: it is the place of a signed price file; ${advice}`);
    }
    return `${JSON.stringify(value, null, 2)}\n`;
  }

  /** @throws {PluginError} When one cannot be read. */
  #readTexts(): KnownFiles {
    const { entries = [] } = listFolder(this.#folder);
    const files = entries.filter(({ name, isFolder }) => !isFolder && name.endsWith(".json"));
    return new Map(
      files.map(({ name, path, label }) => {
        try {
          const text = readTextFile(path);
          const value = parseFile(text);
          return [name.slice(0, -5), { text, value, isSigned: isRecord(value) && isRecord(value.plugins) }];
        } catch (cause) {
          const reason = cause instanceof Error ? cause.message : String(cause);
          throw new PluginError(`Cannot read ${label}: ${reason}; it cannot be changed here until this is fixed`, {
            cause,
          });
        }
      }),
    );
  }

  /** All texts are on the disk before the first file changes, and each file changes at once. */
  #write(changed: readonly (readonly [name: string, text: string])[], removed: readonly string[]): void {
    const { path, label } = this.#folder;
    const target = (name: string) => join(path, `${name}.json`);
    const prepared: ReturnType<typeof prepareFile>[] = [];
    try {
      for (const [name, text] of changed) prepared.push(prepareFile(target(name), text));
      for (const file of prepared) file.place();
      for (const name of removed) rmSync(target(name), { force: true });
    } catch (cause) {
      for (const file of prepared) file.discard();
      const reason = cause instanceof Error && "code" in cause ? String(cause.code) : String(cause);
      throw new PluginError(`Cannot write the folder ${label} (${reason}); let the gateway's user write it`, { cause });
    }
  }
}

/** Rows of a plugin, with its terms for models without a row as one row. */
function toRows(plugin: ProviderPlugin | undefined): Model[] {
  return [...(plugin?.models ?? []), { id: "unlisted models", ...plugin?.unlisted } as Model];
}

/** Compares the rows of `virtual.json`, as {@link compareModels} does for models. */
function compareVirtual(...files: [unknown, unknown]): string[] {
  const [before, after] = files.map((file) => (isRecord(file) ? file.models : file) ?? []) as [Model[], Model[]];
  return compareModels(before, after).map((line) => `virtual: ${line}`);
}

function isSame(one: unknown, other: unknown): boolean {
  return JSON.stringify(one) === JSON.stringify(other);
}
