import { invite } from "../../accounts/index.ts";
import { getPublicOrigin } from "../../config/index.ts";
import { defineCommand } from "../command.ts";
import { accountOf, withStore } from "../lib/with-store.ts";

export const accountInvite = defineCommand({
  name: "account invite",
  about: "Make a link by which the holder of an account sets a password, once within 48 hours",
  flags: {},
  args: ["A"],
  example: "account invite ada@example.org",
  async run(_ground, { args, config, now }) {
    const { token, expiresAt } = await withStore(config, async ({ store, accounts }) => {
      const { id } = await accountOf(accounts, args.A);
      return invite(store, id, now);
    });
    const url = `${getPublicOrigin(config, config.port)}/#invitation=${token}`;
    const expires = new Date(expiresAt).toISOString();
    return { json: { url, token, expires_at: expires }, text: `${url}\nGood once, until ${expires.slice(0, 16)} UTC` };
  },
});
