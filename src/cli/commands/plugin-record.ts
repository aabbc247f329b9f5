import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { nameKeyVariables } from "../../config/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { readProviderSettings } from "../lib/catalogue.ts";
import { recordCall } from "../plugin-check/record.ts";
import { loadPluginAt } from "../plugin-source.ts";

export const pluginRecord = defineCommand({
  name: "plugin record",
  description: "Record fixtures from a real call (JSON and stream), with the key of the environment or the database",
  flags: {
    model: { value: "M", description: "One of the plugin's chat models; the first when left out" },
    prompt: { value: "TEXT", description: "Prompt to send; default: Say hello" },
  },
  args: ["PATH"],
  example: "plugin record ./acme",
  async run(_, { args, flags, config }) {
    const { plugin, entry, isFolder } = await loadPluginAt(args.PATH);
    if (!isFolder) {
      throw new UsageError(`${args.PATH} is a single file, expected a folder with an index file for its fixtures`);
    }
    const model = plugin.models.find(({ id, capability }) => capability === "chat" && (flags.model ?? id) === id);
    if (model === undefined)
      throw new UsageError(`${plugin.name} has no chat model ${flags.model ?? ""}, expected one of its models`);
    const credential = (await readProviderSettings(config))?.credentials(plugin) ?? config.credentials(plugin);
    if (plugin.credential !== "none" && credential.keys.length === 0) {
      const variable = nameKeyVariables(plugin);
      throw new UsageError(
        `There is no key for ${plugin.name} with: set ${variable}, or store one with modelgate provider key set`,
      );
    }
    const folder = join(dirname(entry), "fixtures");
    mkdirSync(folder, { recursive: true });
    const written: string[] = [];
    for (const stream of [false, true]) {
      const request = { model: model.id, prompt: flags.prompt ?? "Say hello", stream };
      const fixture = await recordCall(plugin, credential, request);
      const file = `recorded-${stream ? "stream" : "answer"}.json`;
      writeFileSync(join(folder, file), `${JSON.stringify(fixture, null, 2)}\n`);
      written.push(`fixtures/${file}`);
    }
    const advice = "Check the files before you share them: keys are removed, prompts and answers are not";
    const text = [...written, "", advice].join("\n");
    return { json: { plugin: plugin.name, files: written }, text };
  },
});
