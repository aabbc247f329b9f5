import { commandLine } from "../../audit/index.ts";
import { GatewayError } from "../../contract/index.ts";
import { eachAccount, setModelLimits } from "../../tenants/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { parseKeyId, parseLimit, parseModel } from "../lib/parse.ts";
import { expectRecipient, type OpenedStore, withStore } from "../lib/with-store.ts";

const owner = {
  account: {
    value: "A",
    description: "Id or e-mail of the account, or name of a team (default: each account by itself)",
  },
  key: { value: "ID", description: "An API key, in addition to the limits of its account" },
} as const;

export const limitSet = defineCommand({
  name: "limit set",
  description: "Limit the calls of one model, for each account, one account or an API key",
  flags: {
    ...owner,
    "requests-per-minute": { value: "N", description: "Requests per minute" },
    "tokens-per-minute": { value: "N", description: "Tokens per minute" },
    "concurrent-calls": { value: "N", description: "Concurrent calls" },
  },
  args: ["MODEL"],
  example: "limit set gpt-4.1 --account ada@example.org --requests-per-minute 60",
  async run(context, { flags, args, config, now }) {
    const read = (flag: "requests-per-minute" | "tokens-per-minute" | "concurrent-calls") => {
      const text = flags[flag];
      return text === undefined ? undefined : parseLimit(`--${flag}`, text);
    };
    const limits = {
      requests_per_minute: read("requests-per-minute") ?? null,
      tokens_per_minute: read("tokens-per-minute") ?? null,
      concurrent_calls: read("concurrent-calls") ?? null,
    };
    if (Object.values(limits).every((limit) => limit === null)) {
      throw new UsageError(
        "No limit is set; use one of --requests-per-minute, --tokens-per-minute, --concurrent-calls",
      );
    }
    const model = await parseModel(args.MODEL, context, config);
    const set = async (opened: OpenedStore) =>
      setModelLimits(opened.store, { by: commandLine, ...(await findOwner(opened, flags)), model, ...limits }, now);
    const { id } = await withStore(config, set, now);
    return {
      json: { id, model: args.MODEL },
      text: `The limits of ${args.MODEL} are set; delete them with modelgate limit remove ${id}`,
    };
  },
});

/** @throws {UsageError | GatewayError} For both, or `not_found` for an account or key that is not there. */
async function findOwner(
  { accounts }: OpenedStore,
  { account, key }: { readonly account?: string | undefined; readonly key?: string | undefined },
) {
  if (account !== undefined && key !== undefined) throw new UsageError("--account and --key exclude each other");
  if (account !== undefined) return { accountId: (await expectRecipient(accounts, account)).id };
  if (key === undefined) return { accountId: eachAccount };
  const keyId = parseKeyId(key);
  const keyOwner = await accounts.findKeyOwner(keyId);
  if (keyOwner === undefined)
    throw new GatewayError("not_found", `There is no API key ${keyId}; see modelgate key list`);
  return { accountId: keyOwner.accountId, key_id: keyId };
}
