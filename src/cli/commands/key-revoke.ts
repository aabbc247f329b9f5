import { defineCommand } from "../command.ts";
import { keyIdOf } from "../key-id.ts";
import { withStore } from "../lib/with-store.ts";

export const keyRevoke = defineCommand({
  name: "key revoke",
  about: "Make an API key useless, for good",
  flags: {},
  args: ["ID"],
  example: "key revoke ID",
  async run(_ground, { args, config }) {
    const id = keyIdOf(args.ID);
    await withStore(config, ({ accounts }) => accounts.revokeKey(id));
    return { json: { id, revoked: true }, text: `Revoked ${id}` };
  },
});
