import { defineCommand, UsageError } from "../../cli/command.ts";
import type { OpenedStore } from "../../cli/lib/with-store.ts";
import { accountLabel, toRealEmail } from "../../contract/index.ts";
import { settings } from "./settings.ts";

export const accountContent = defineCommand({
  name: "account content",
  description: "Show or change whose prompts and answers are kept: of an account, or of one API key",
  flags: {
    keep: {
      value: "on",
      description: "on or off, where CONTENT_LOG=selected; without it, nothing changes",
      choices: ["on", "off"],
    },
    key: { value: "ID", description: "Only this API key of the account" },
  },
  args: ["A"],
  example: "account content ada@example.org --keep on",
  async run(_context, { flags, args, config, now }) {
    const { parseKeyId } = await import("../../cli/lib/parse.ts");
    const { expectAccount, withStore } = await import("../../cli/lib/with-store.ts");
    const { readSwitches, setSwitch } = await import("./switches.ts");
    const { contentLog: mode } = config.of(settings);
    const on = flags.keep === undefined ? undefined : parseSwitch(flags.keep);
    const keyId = flags.key === undefined ? undefined : parseKeyId(flags.key);
    if (keyId !== undefined && on === undefined) throw new UsageError("--key needs --keep on or --keep off");
    const work = async ({ store, accounts }: OpenedStore) => {
      const owner = await expectAccount(accounts, args.A);
      const { id: accountId } = owner;
      if (on !== undefined) await setSwitch({ store, mode, now: () => now }, { accountId, keyId, on, by: "cli" });
      const { account, keyIds } = await readSwitches(store, accountId);
      return {
        id: accountId,
        email: toRealEmail(owner.email),
        label: accountLabel(owner),
        content_log: mode,
        account,
        keys: keyIds,
      };
    };
    const json = await withStore(config, work, now);
    const whose = json.account ? "all API keys" : json.keys.length === 0 ? "no API key" : json.keys.join(", ");
    const text = `${json.label} is set to keep prompts and answers of ${whose}`;
    return { json, text: mode === "selected" ? text : `${text}; CONTENT_LOG is ${mode}` };
  },
});

function parseSwitch(text: string): boolean {
  const value = text.toLowerCase();
  if (value === "on" || value === "off") return value === "on";
  throw new UsageError(`Cannot use --keep ${text}, expected on or off`);
}
