import { defineCommand } from "../command.ts";
import { withStore } from "../lib/with-store.ts";

export const accountCreate = defineCommand({
  name: "account create",
  about: "Make an account, with an empty wallet and the free quota",
  flags: {
    email: { value: "E", about: "E-mail address, one account each", required: true },
    name: { value: "N", about: "Name of its holder" },
  },
  args: [],
  example: "account create --email ada@example.org --name Ada",
  async run(_ground, { flags: { email, name }, config }) {
    const account = await withStore(config, ({ accounts }) => accounts.create({ email, name }));
    return { json: { id: account.id, email: account.email }, text: `${account.id}  ${account.email}` };
  },
});
