import { existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { GatewayError } from "../../contract/index.ts";
import { type CliContext, type CommandResult, defineCommand, UsageError } from "../command.ts";
import { createPluginFiles, type Dialect } from "../plugin-new/plugin-files.ts";

export const pluginNew = defineCommand({
  name: "plugin new",
  description: "Write a commented plugin with its catalogue, types and fixtures into a folder here",
  flags: {
    dialect: {
      value: "D",
      description: "openai (the default): the provider speaks OpenAI's wire format",
      choices: ["openai"],
    },
    ready: {
      value: "",
      description: "Write the ready manifest NAME.json, such as ollama, of a server or host that many use",
    },
    translated: { value: "", description: "The provider has its own wire format" },
  },
  args: ["NAME"],
  example: "plugin new acme",
  async run(fixture, { flags, args }) {
    const name = args.NAME;
    if (flags.ready !== undefined) return writeReady(fixture, name);
    if (!/^[a-z][a-z0-9]*(-[a-z0-9]+)*$/.test(name)) {
      throw new UsageError(`Cannot name a plugin ${JSON.stringify(name)}: expected kebab-case, such as my-provider`);
    }
    const dialect = parseDialect(flags.dialect, flags.translated !== undefined);
    if (existsSync(name))
      throw new GatewayError("conflict", `Cannot make ${name}: it already exists; use another name or remove it`);
    const files = await createPluginFiles(name, dialect);
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

async function writeReady(context: CliContext, name: string): Promise<CommandResult> {
  const { manifests } = await context.loadBuiltIns();
  const manifest = Object.hasOwn(manifests, name) ? manifests[name] : undefined;
  if (manifest === undefined) {
    throw new UsageError(`There is no ready manifest ${name}, expected one of: ${Object.keys(manifests).join(", ")}`);
  }
  const file = `${name}.json`;
  if (existsSync(file)) throw new GatewayError("conflict", `Cannot write ${file}: it already exists; remove it first`);
  writeFileSync(file, `${JSON.stringify(manifest, null, 2)}\n`);
  const text = [file, "", `Next: name your models in it, then move it into $MODELGATE_HOME/plugins`].join("\n");
  return { json: { name, files: [file] }, text };
}

function parseDialect(dialect: string | undefined, translated: boolean): Dialect {
  if (translated && dialect !== undefined)
    throw new UsageError("Cannot take both --dialect and --translated, expected one");
  if (translated) return "translated";
  if (dialect === undefined || dialect === "openai") return "openai";
  throw new UsageError(
    `Unknown dialect ${JSON.stringify(dialect)}, expected openai; for any other format write --translated`,
  );
}
