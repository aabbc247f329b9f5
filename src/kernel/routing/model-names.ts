import type { Model, ProviderPlugin } from "../../contract/index.ts";

/** The model that a name is for, and the plugin that says so. */
interface Owner {
  readonly id: string;
  readonly plugin: string;
}

/** Whose each id and alias is: the model's that has it now, by `currentId`, else the first one's. */
export function findOwners(
  plugins: readonly ProviderPlugin[],
  currentId: (name: string) => string | undefined,
): Map<string, Owner> {
  const owners = new Map<string, Owner>();
  for (const plugin of plugins) {
    for (const { id, aliases = [] } of plugin.models) {
      for (const name of [id, ...aliases]) {
        const owner = owners.get(name);
        const isKept = owner?.id !== id && currentId(name) === id;
        if (owner === undefined || isKept) owners.set(name, { id, plugin: plugin.name });
      }
    }
  }
  return owners;
}

/** A file that is added must not redirect a name that clients know. */
export function findTakenName(
  plugin: ProviderPlugin,
  { id, aliases = [] }: Model,
  owners: ReadonlyMap<string, Owner>,
  labelOf: (pluginName: string) => string,
): string | undefined {
  for (const name of [id, ...aliases]) {
    const owner = owners.get(name);
    if (owner === undefined || owner.id === id) continue;
    const own = name === id ? "the id" : "an alias";
    const known = name === owner.id ? "the id of a model" : `an alias of '${owner.id}'`;
    return `Plugin '${plugin.name}' has '${name}' as ${own} of a model, but it is ${known} in ${labelOf(owner.plugin)}: rename one of the two`;
  }
  return undefined;
}
