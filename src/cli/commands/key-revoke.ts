import { withBooks } from "../books.ts";
import { defineCommand } from "../command.ts";

export const keyRevoke = defineCommand({
  name: "key revoke",
  about: "Make an API key useless, for good",
  flags: {},
  args: ["ID"],
  example: "key revoke ID",
  async run(_ground, { args, config }) {
    // A pasted key is taken too: whoever revokes a leaked one has the key at hand, not its id.
    const id = /^sk-mg-([^-]+)-/.exec(args.ID)?.[1] ?? args.ID;
    await withBooks(config, ({ accounts }) => accounts.revokeKey(id));
    return { json: { id, revoked: true }, text: `Revoked ${id}` };
  },
});
