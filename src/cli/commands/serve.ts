import { makeHome } from "../../config/index.ts";
import { defineCommand } from "../command.ts";

export const serve = defineCommand({
  name: "serve",
  about: "Start the gateway, as the environment says (see modelgate config)",
  flags: {},
  args: [],
  example: "serve",
  async run(ground, { config }) {
    // Credentials are read at first use; asking now stops the start on a wrong one.
    for (const { name } of ground.plugins) config.credentials(name);
    makeHome(config);
    await ground.serve(config);
    return undefined;
  },
});
