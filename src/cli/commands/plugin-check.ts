import { defineCommand } from "../command.ts";
import { exitCodes } from "../exit-codes.ts";
import { columns } from "../lib/format.ts";
import { checkPlugin } from "../plugin-check/check-plugin.ts";
import { readFixtures } from "../plugin-check/fixture.ts";
import { loadPluginAt } from "../plugin-source.ts";

export const pluginCheck = defineCommand({
  name: "plugin check",
  description: "Load a plugin, run its fixtures and the conformance suite, and report what to fix",
  flags: {},
  args: ["PATH"],
  example: "plugin check ./acme",
  async run(_, { args }) {
    const { plugin, entry, isFolder } = await loadPluginAt(args.PATH);
    const marks = await checkPlugin(plugin, isFolder ? readFixtures(entry) : []);
    const passed = marks.filter(({ ok }) => ok).length;
    const problems = marks.flatMap(({ check, ok, wrong, fix }) =>
      ok ? [] : ["", check, `  wrong: ${wrong}`, `  fix:   ${fix}`],
    );
    const rows = marks.map(({ check, ok }) => [ok ? "ok" : "NOT OK", check]);
    const score = `${plugin.name}: ${passed} of ${marks.length}`;
    const text = [columns(rows), ...problems, "", score].join("\n");
    const isGood = passed === marks.length;
    return {
      json: { plugin: plugin.name, passed, of: marks.length, marks },
      text,
      exitCode: isGood ? exitCodes.success : exitCodes.failed,
    };
  },
});
