import { existsSync, readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const folder = join(import.meta.dirname, "../plugins");

/** The text of `plugins/index.ts`: every folder with an `index.ts` is a plugin. */
export function writePluginList(): string {
  const names = readdirSync(folder)
    .filter((name) => name !== "sandbox" && existsSync(join(folder, name, "index.ts")))
    .sort();
  const toVariable = (name: string) => name.replace(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
  return [
    "// Made by `bun run plugins:list` of the folders beside it.",
    'import type { ProviderPlugin } from "modelgate/plugin";',
    ...names.map((name) => `import ${toVariable(name)} from "./${name}/index.ts";`),
    "",
    "/** The plugins compiled in. */",
    "export const builtIns: readonly ProviderPlugin[] = [",
    ...names.map((name) => `  ${toVariable(name)},`),
    "];",
    "",
    'export { manifests } from "./manifests.ts";',
    'export { sandbox } from "./sandbox/index.ts";',
    "",
  ].join("\n");
}

if (import.meta.main) writeFileSync(join(folder, "index.ts"), writePluginList());
