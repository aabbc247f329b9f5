import { accountJson } from "../account-json.ts";
import { columns } from "../columns.ts";
import { defineCommand } from "../command.ts";
import { withStore } from "../lib/with-store.ts";

export const accountList = defineCommand({
  name: "account list",
  about: "List the accounts",
  flags: {},
  args: [],
  example: "account list",
  async run(_ground, { config }) {
    const accounts = await withStore(config, ({ accounts }) => accounts.list());
    const rows = accounts.map(({ id, email, name }) => [id, email, name ?? ""]);
    const text =
      rows.length === 0 ? "No accounts yet; make one with modelgate account create --email E" : columns(rows);
    return { json: accounts.map(accountJson), text };
  },
});
