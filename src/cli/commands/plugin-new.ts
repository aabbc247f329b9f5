import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { defineCommand, Mistake } from "../command.ts";
import { type Dialect, filesOfPlugin } from "../plugin-new/files-of-plugin.ts";

export const pluginNew = defineCommand({
  name: "plugin new",
  about: "Write a commented plugin with its catalogue, types and fixtures into a folder here",
  flags: {
    dialect: { value: "D", about: "openai (the default): the provider speaks OpenAI's wire format" },
    translated: { value: "", about: "The provider has a wire format of its own" },
  },
  args: ["NAME"],
  example: "plugin new acme",
  async run(_, { flags, args }) {
    const name = args.NAME;
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
      throw new Mistake(`Cannot name a plugin ${JSON.stringify(name)}: expected kebab-case, such as my-provider`);
    }
    const dialect = dialectOf(flags.dialect, flags.translated !== undefined);
    if (existsSync(name)) throw new Mistake(`Cannot make ${name}: it is there already; take another name or remove it`);
    const files = filesOfPlugin(name, dialect);
    for (const [file, text] of files) {
      const path = join(name, file);
      mkdirSync(dirname(path), { recursive: true });
      writeFileSync(path, text);
    }
    const paths = [...files.keys()].map((file) => `${name}/${file}`);
    const text = [...paths, "", `Next: modelgate plugin check ${name}`].join("\n");
    return { json: { name, dialect, files: paths }, text };
  },
});

function dialectOf(dialect: string | undefined, translated: boolean): Dialect {
  if (translated && dialect !== undefined)
    throw new Mistake("Cannot take both --dialect and --translated, expected one");
  if (translated) return "translated";
  if (dialect === undefined || dialect === "openai") return "openai";
  throw new Mistake(
    `Unknown dialect ${JSON.stringify(dialect)}, expected openai; for any other format write --translated`,
  );
}
