import { getPluginStateFile } from "../../config/index.ts";
import { toTerminalLine } from "../../lib/terminal-text.ts";
import { type PluginState, readStateFile } from "../../providers/index.ts";
import { defineCommand } from "../command.ts";
import { loadSnapshot, readProviderSettings } from "../lib/catalogue.ts";
import { columns } from "../lib/format.ts";

export const pluginList = defineCommand({
  name: "plugin list",
  description: "List the plugins, their state, and errors of those that could not be loaded",
  flags: {},
  args: [],
  example: "plugin list",
  async run(context, { config }) {
    const live = readStateFile(getPluginStateFile(config), isRunning);
    const snapshot = live ?? (await loadSnapshot(context, config, await readProviderSettings(config)));
    const states = "states" in snapshot ? snapshot.states : snapshot.plugins;
    const heading = ["plugin", "status", "version", "contract", "models", "routes", "keys", "from"];
    const messages = new Set([...states.flatMap(({ error }) => error ?? []), ...snapshot.warnings]);
    const problems = [...messages].map((message) => `  ${toTerminalLine(message)}`);
    const source =
      live === undefined
        ? "No gateway runs in this home folder; this is the state after a start"
        : "As the running gateway reports";
    const text = [
      columns([heading, ...states.map(toRow)]),
      ...(problems.length > 0 ? ["", ...problems] : []),
      "",
      source,
    ];
    return { json: states, text: text.join("\n") };
  },
});

function toRow({ name, status, version, contract, models, routes, keys, origin }: PluginState): string[] {
  const count = [contract, models, routes, keys].map((figure) => (figure === null ? "" : String(figure)));
  return [name, status.replace("_", " "), version ?? "", ...count, origin];
}

function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    // The process belongs to another user, but it is running.
    return error instanceof Error && "code" in error && error.code === "EPERM";
  }
}
