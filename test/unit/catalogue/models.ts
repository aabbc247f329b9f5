import { readdirSync, readFileSync } from "node:fs";
import { basename, join } from "node:path";
import type { Capability } from "../../../src/contract/index.ts";
import type { Model } from "../../../src/provider/index.ts";

const folder = join(import.meta.dir, "../../../catalogue");

/** The catalogue's files by plugin, as they stand on disk. */
export const files: ReadonlyMap<string, { models: Model[] }> = new Map(
  readdirSync(folder)
    .filter((name) => name.endsWith(".json"))
    .sort()
    .map((name) => [basename(name, ".json"), JSON.parse(readFileSync(join(folder, name), "utf8"))]),
);

/** Every row of every file. */
export const models: readonly Model[] = [...files.values()].flatMap((file) => file.models);

/** Rows by what they can do. */
export function modelsOf(capability: Capability): Model[] {
  return models.filter((model) => model.capability === capability);
}

/** The row of an id. @throws When there is none. */
export function modelOf(id: string): Model {
  const model = models.find((candidate) => candidate.id === id);
  if (model === undefined) throw new Error(`The catalogue has no model ${id}`);
  return model;
}
