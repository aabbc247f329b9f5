import type { Accounts } from "../../accounts/index.ts";
import { defineCommand } from "../command.ts";
import { boundFlags, readBounds } from "../lib/key-limits.ts";
import { accountOf, withStore } from "../lib/with-store.ts";
import { readAllowedModels } from "../read-allowed-models.ts";
import { readExpiry } from "../read-values.ts";

export const keyCreate = defineCommand({
  name: "key create",
  about: "Make an API key; it is shown once",
  flags: {
    account: { value: "A", about: "Id or e-mail of the account", required: true },
    name: { value: "N", about: "What it is for", required: true },
    expires: { value: "30d", about: "Ends after a span (30d, 12h, 1y) or with a day (2027-01-31)" },
    models: { value: "a,b", about: "Models it may use; all when left out" },
    ...boundFlags,
  },
  args: [],
  example: "key create --account ada@example.org --name laptop --budget-usd 5.00",
  async run(ground, { flags, config, now }) {
    const expiresAt = flags.expires === undefined ? undefined : readExpiry(flags.expires, now);
    const allowedModels = flags.models === undefined ? undefined : readAllowedModels(flags.models, ground);
    const bounds = readBounds(flags);
    const create = async (accounts: Accounts) => {
      const { id: accountId } = await accountOf(accounts, flags.account);
      return accounts.createKey({ accountId, name: flags.name, expiresAt, allowedModels, bounds });
    };
    const { id, key } = await withStore(config, ({ accounts }) => create(accounts), now);
    return {
      json: { id, key },
      text: `${key}\nKeep it: only its hash is stored. Revoke it with modelgate key revoke ${id}`,
    };
  },
});
