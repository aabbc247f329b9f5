import { makeTemporaryPassword } from "../../accounts/index.ts";
import { defineCommand } from "../command.ts";
import { accountOf, withStore } from "../lib/with-store.ts";

export const accountPassword = defineCommand({
  name: "account password",
  about: "Give the holder of an account a new password, shown once; who was signed in is no longer",
  flags: {},
  args: ["A"],
  example: "account password ada@example.org",
  async run(_ground, { args, config, now }) {
    const { email, password } = await withStore(config, async ({ store, accounts }) => {
      const { id: accountId, email } = await accountOf(accounts, args.A);
      return { email, password: await makeTemporaryPassword(store, { accountId, role: "member" }, now) };
    });
    return {
      json: { email, password },
      text: `${email}  ${password}\nIt is shown this once; change it after the sign-in`,
    };
  },
});
