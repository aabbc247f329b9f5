import { defineCommand } from "../command.ts";
import { accountOf, withStore } from "../lib/with-store.ts";
import { readTokens } from "../read-values.ts";

export const quotaSet = defineCommand({
  name: "quota set",
  about: "Set the free tokens a day of one account",
  flags: {
    account: { value: "A", about: "Id or e-mail of the account", required: true },
    tokens: { value: "N", about: "Tokens a UTC day", required: true },
  },
  args: [],
  example: "quota set --account ada@example.org --tokens 1000000",
  async run(_ground, { flags, config }) {
    const tokens = readTokens(flags.tokens);
    const account = await withStore(config, async ({ accounts }) => {
      const account = await accountOf(accounts, flags.account);
      await accounts.setQuota(account.id, tokens);
      return account;
    });
    return {
      json: { id: account.id, free_tokens_per_day: tokens },
      text: `${account.email} has ${tokens} free tokens a day`,
    };
  },
});
