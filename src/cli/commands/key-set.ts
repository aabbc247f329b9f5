import type { Accounts } from "../../accounts/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { keyIdOf } from "../key-id.ts";
import { boundFlags, boundsJson, readBoundChanges } from "../lib/key-limits.ts";
import { withStore } from "../lib/with-store.ts";
import { readAllowedModels } from "../read-allowed-models.ts";
import { readExpiry } from "../read-values.ts";

const flagsOfKey = {
  name: { value: "N", about: "What it is for" },
  expires: { value: "30d", about: "Ends after a span (30d, 12h, 1y) or with a day (2027-01-31); never with none" },
  models: { value: "a,b", about: "Models it may use; all with none" },
  ...boundFlags,
} as const;

export const keySet = defineCommand({
  name: "key set",
  about: "Change an API key; none takes a bound away, and what is left out stays",
  flags: flagsOfKey,
  args: ["ID"],
  example: "key set ID --budget-usd 5.00",
  async run(ground, { flags, args, config, now }) {
    const changes = {
      name: flags.name,
      expiresAt: orNone(flags.expires, (text) => readExpiry(text, now)),
      allowedModels: orNone(flags.models, (text) => readAllowedModels(text, ground)),
      bounds: readBoundChanges(flags),
    };
    if ([...Object.values(changes.bounds), changes.name, changes.expiresAt, changes.allowedModels].every(isAbsent)) {
      throw new UsageError(`Nothing to change, expected one of --${Object.keys(flagsOfKey).join(", --")}`);
    }
    const id = keyIdOf(args.ID);
    const change = async (accounts: Accounts) => {
      await accounts.changeKey(id, changes);
      return (await accounts.listKeys()).find((key) => key.id === id);
    };
    const key = await withStore(config, ({ accounts }) => change(accounts), now);
    const json = {
      id,
      name: key?.name ?? null,
      expires_at: key?.expiresAt === undefined ? null : new Date(key.expiresAt).toISOString(),
      allowed_models: key?.allowedModels ?? null,
      ...boundsJson(key?.bounds ?? {}),
    };
    const said = Object.entries(json).map(([name, value]) => `${name} ${value ?? "none"}`);
    return { json, text: said.join(", ") };
  },
});

const isAbsent = (change: unknown) => change === undefined;

/** What a flag says: `none` as `null`, for it is to go. */
function orNone<Value>(text: string | undefined, read: (text: string) => Value): Value | null | undefined {
  if (text === undefined) return undefined;
  return text === "none" ? null : read(text);
}
