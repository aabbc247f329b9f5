import { invite, makeTemporaryPassword } from "../../accounts/index.ts";
import { walletOf } from "../../billing/index.ts";
import { getPublicOrigin } from "../../config/index.ts";
import { defineCommand } from "../command.ts";
import { columns, toAccountJson, toWalletJson } from "../lib/format.ts";
import { parseTokens } from "../lib/parse.ts";
import { findAccount, withStore } from "../lib/with-store.ts";

export const accountCreate = defineCommand({
  name: "account create",
  description: "Create an account with an empty wallet and the default free quota",
  flags: {
    email: { value: "E", description: "E-mail address, unique to the account", required: true },
    name: { value: "N", description: "Name of the account holder" },
  },
  args: [],
  example: "account create --email ada@example.org --name Ada",
  async run(_context, { flags: { email, name }, config }) {
    const account = await withStore(config, ({ accounts }) => accounts.create({ email, name }));
    return { json: { id: account.id, email: account.email }, text: `${account.id}  ${account.email}` };
  },
});

export const accountList = defineCommand({
  name: "account list",
  description: "List the accounts",
  flags: {},
  args: [],
  example: "account list",
  async run(_context, { config }) {
    const accounts = await withStore(config, ({ accounts }) => accounts.list());
    const rows = accounts.map(({ id, email, name }) => [id, email, name ?? ""]);
    const empty = "No accounts yet; create one with modelgate account create --email E";
    return { json: accounts.map(toAccountJson), text: rows.length === 0 ? empty : columns(rows) };
  },
});

export const accountShow = defineCommand({
  name: "account show",
  description: "Show an account with its wallet, quota and number of keys",
  flags: {},
  args: ["A"],
  example: "account show ada@example.org",
  async run(_context, { args, config }) {
    const json = await withStore(config, async ({ store, accounts }) => {
      const account = await findAccount(accounts, args.A);
      const wallet = toWalletJson(await walletOf(store, account.id));
      const { length: keys } = await accounts.listKeys(account.id);
      return { ...toAccountJson(account), ...wallet, keys };
    });
    return { json, text: columns(Object.entries(json).map(([name, value]) => [name, String(value ?? "default")])) };
  },
});

export const accountInvite = defineCommand({
  name: "account invite",
  description: "Create a link to set an account's password, valid once within 48 hours",
  flags: {},
  args: ["A"],
  example: "account invite ada@example.org",
  async run(_context, { args, config, now }) {
    const { token, expiresAt } = await withStore(config, async ({ store, accounts }) => {
      const { id } = await findAccount(accounts, args.A);
      return invite(store, id, now);
    });
    const url = `${getPublicOrigin(config, config.port)}/#invitation=${token}`;
    const expires = new Date(expiresAt).toISOString();
    return { json: { url, token, expires_at: expires }, text: `${url}\nValid once, until ${expires.slice(0, 16)} UTC` };
  },
});

export const accountPassword = defineCommand({
  name: "account password",
  description: "Reset an account's password (prints it once and ends all sessions)",
  flags: {},
  args: ["A"],
  example: "account password ada@example.org",
  async run(_context, { args, config, now }) {
    const { email, password } = await withStore(config, async ({ store, accounts }) => {
      const { id: accountId, email } = await findAccount(accounts, args.A);
      return { email, password: await makeTemporaryPassword(store, { accountId, role: "member" }, now) };
    });
    return { json: { email, password }, text: `${email}  ${password}\nShown only once; change it after signing in` };
  },
});

export const quotaSet = defineCommand({
  name: "quota set",
  description: "Set an account's free quota in tokens per day",
  flags: {
    account: { value: "A", description: "Id or e-mail of the account", required: true },
    tokens: { value: "N", description: "Tokens per UTC day", required: true },
  },
  args: [],
  example: "quota set --account ada@example.org --tokens 1000000",
  async run(_context, { flags, config }) {
    const tokens = parseTokens(flags.tokens);
    const { id, email } = await withStore(config, async ({ accounts }) => {
      const account = await findAccount(accounts, flags.account);
      await accounts.setQuota(account.id, tokens);
      return account;
    });
    return { json: { id, free_tokens_per_day: tokens }, text: `${email} has ${tokens} free tokens per day` };
  },
});
