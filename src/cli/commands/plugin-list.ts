import { toTerminalLine } from "../../lib/terminal-text.ts";
import type { PluginState } from "../../providers/index.ts";
import { defineCommand } from "../command.ts";
import { loadSnapshot, readProviderSettings } from "../lib/catalogue.ts";
import { columns } from "../lib/format.ts";
import { describeSource, readLiveState } from "../lib/live-state.ts";

export const pluginList = defineCommand({
  name: "plugin list",
  description: "List the plugins, their state, and errors of those that could not be loaded",
  flags: {},
  args: [],
  example: "plugin list",
  async run(context, { config }) {
    const live = readLiveState(config);
    const snapshot = live ?? (await loadSnapshot(context, config, await readProviderSettings(config)));
    const states = "states" in snapshot ? snapshot.states : snapshot.plugins;
    const heading = ["plugin", "status", "version", "contract", "models", "routes", "keys", "from"];
    const messages = new Set([...states.flatMap(({ error }) => error ?? []), ...snapshot.warnings]);
    const problems = [...messages].map((message) => `  ${toTerminalLine(message)}`);
    const text = [
      columns([heading, ...states.map(toRow)]),
      ...(problems.length > 0 ? ["", ...problems] : []),
      "",
      describeSource(live !== undefined),
    ];
    return { json: states, text: text.join("\n") };
  },
});

function toRow({ name, status, version, contract, models, routes, keys, origin }: PluginState): string[] {
  const count = [contract, models, routes, keys].map((figure) => (figure === null ? "" : String(figure)));
  return [name, status.replace("_", " "), version ?? "", ...count, origin];
}
