import { defineCommand } from "../command.ts";

export const version = defineCommand({
  name: "version",
  about: "Show the version, and in a build its commit",
  flags: {},
  args: [],
  example: "version",
  async run({ version: { version, commit } }) {
    const text = commit === undefined ? `modelgate ${version}` : `modelgate ${version} (${commit})`;
    return { json: { version, commit: commit ?? null }, text };
  },
});
