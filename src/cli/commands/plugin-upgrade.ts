import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, extname, join } from "node:path";
import { upgradeText } from "../../plugin-loader/contract-upgrade.ts";
import { filesBelow } from "../../plugin-loader/find-sources.ts";
import { defineCommand, UsageError } from "../command.ts";
import { pluginTypes } from "../plugin-new/plugin-files.ts";

const typesFile = "modelgate-plugin.d.ts";
const endings = [".ts", ".js", ".json"];

export const pluginUpgrade = defineCommand({
  name: "plugin upgrade",
  description:
    "Rewrite a plugin, manifest or catalogue file of contract 1 for contract 2; originals are kept as FILE.v1",
  flags: { "dry-run": { value: "", description: "Print the changes and write nothing" } },
  args: ["PATH"],
  example: "plugin upgrade ./acme",
  async run(_, { flags, args }) {
    const isDry = flags["dry-run"] !== undefined;
    const files = filesAt(args.PATH).map(upgradeFile);
    const changed = files.filter(({ changes }) => changes.length > 0);
    const kept = changed.map(({ path }) => `${path}.v1`);
    const taken = kept.find((path) => existsSync(path));
    if (taken !== undefined && !isDry) {
      throw new UsageError(`Cannot keep the original as ${taken}: the file exists; move it away first`);
    }
    const types = join(args.PATH, typesFile);
    const hasTypes = changed.length > 0 && existsSync(types);
    if (!isDry) {
      for (const { path, before, text } of changed) {
        writeFileSync(`${path}.v1`, before);
        writeFileSync(path, text);
      }
      if (hasTypes) writeFileSync(types, await pluginTypes());
    }
    const changes = changed.flatMap(({ path, changes }) => changes.map(({ line, rename }) => ({ path, line, rename })));
    const lines = changes.map(({ path, line, rename }) => `${path}:${line}: ${rename}`);
    if (hasTypes) lines.push(`${types}: the types of this version`);
    const next = isDry ? "Nothing was written" : `Next: modelgate plugin check ${args.PATH}`;
    const text = lines.length === 0 ? "Nothing to upgrade" : [...lines, "", next].join("\n");
    return { json: { changes, kept: isDry ? [] : kept }, text };
  },
});

/** The files to look through: the file itself, or those of a plugin's folder. */
function filesAt(path: string): string[] {
  if (!existsSync(path)) throw new UsageError(`There is no ${path}, expected a plugin, a manifest or a catalogue file`);
  const isIndex = /^(?:.*[\\/])?index\.(?:ts|js|json)$/.test(path);
  const folder = statSync(path).isDirectory() ? path : isIndex ? dirname(path) : undefined;
  const files = folder === undefined ? [path] : filesBelow(folder).map(({ name }) => join(folder, name));
  return files.filter((file) => endings.includes(extname(file)));
}

function upgradeFile(path: string) {
  const before = readFileSync(path, "utf8");
  return { path, before, ...upgradeText(before, extname(path) === ".json" ? "json" : "code") };
}
