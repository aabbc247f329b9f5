import { withBooks } from "../books.ts";
import { defineCommand, Mistake } from "../command.ts";
import { boundFlags, boundsJson, readBoundChanges } from "../key-bounds.ts";
import { keyIdOf } from "../key-id.ts";

export const keySet = defineCommand({
  name: "key set",
  about: "Change the budget and limits of an API key; none takes one away, and what is left out stays",
  flags: boundFlags,
  args: ["ID"],
  example: "key set ID --budget-usd 5.00",
  async run(_ground, { flags, args, config }) {
    const changes = readBoundChanges(flags);
    if (Object.values(changes).every((change) => change === undefined)) {
      throw new Mistake(`Nothing to change, expected one of --${Object.keys(boundFlags).join(", --")}`);
    }
    const id = keyIdOf(args.ID);
    const key = await withBooks(config, async ({ accounts }) => {
      await accounts.changeKey(id, changes);
      return (await accounts.listKeys()).find((key) => key.id === id);
    });
    const json = { id, ...boundsJson(key?.bounds ?? {}) };
    const said = Object.entries(json).map(([name, value]) => `${name} ${value ?? "none"}`);
    return { json, text: said.join(", ") };
  },
});
