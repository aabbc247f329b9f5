import { didYouMean } from "../sdk/did-you-mean.ts";
import { type CliContext, UsageError } from "./command.ts";
import { rowsOf } from "./rows.ts";

/**
 * Model ids of `--models a,b`, aliases turned into the ids they stand for. A name no built-in plugin has is kept with
 * a warning: a plugin dropped in later may bring it.
 *
 * @throws {UsageError} When no name is left.
 */
export function readAllowedModels(text: string, ground: CliContext): string[] {
  const ids = new Map<string, string>();
  for (const { model } of rowsOf(ground.plugins)) {
    for (const name of [model.id, ...(model.aliases ?? [])]) if (!ids.has(name)) ids.set(name, model.id);
  }
  const names = text.split(",").map((name) => name.trim());
  const allowed = new Set<string>();
  for (const name of names) {
    if (name === "") continue;
    const id = ids.get(name);
    if (id === undefined) warnUnknown(name, [...ids.keys()], ground);
    allowed.add(id ?? name);
  }
  if (allowed.size === 0)
    throw new UsageError(`Cannot read --models ${JSON.stringify(text)}, expected model ids separated by commas`);
  return [...allowed];
}

function warnUnknown(name: string, known: readonly string[], ground: CliContext): void {
  const near = didYouMean(name, known);
  const hint = near === undefined ? "see modelgate models" : `did you mean ${near}?`;
  ground.stderr(`Warning: no built-in plugin has the model ${name}, ${hint}\n`);
}
