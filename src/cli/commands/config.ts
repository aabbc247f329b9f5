import { describeConfig } from "../../config/index.ts";
import { columns } from "../columns.ts";
import { defineCommand } from "../command.ts";
import { shelfOf } from "../shelf.ts";

export const config = defineCommand({
  name: "config",
  about: "Show what is configured and where it comes from; secrets are only counted",
  flags: {},
  args: [],
  example: "config",
  async run(ground, { config }) {
    const { plugins } = await shelfOf(ground, config);
    const asked = plugins.filter(({ credential }) => credential === "key").map(({ name }) => name);
    const rows = describeConfig(config, asked);
    return { json: rows, text: columns(rows.map(({ name, value, source }) => [name, value, source])) };
  },
});
