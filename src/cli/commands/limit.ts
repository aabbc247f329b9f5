import { commandLine } from "../../audit/index.ts";
import { GatewayError } from "../../contract/index.ts";
import {
  deleteModelLimits,
  eachAccount,
  getAccountLabel,
  listModelLimits,
  readModelLimits,
  setModelLimits,
} from "../../tenants/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { columns } from "../lib/format.ts";
import { parseKeyId, parseLimit, parseModel, readModelNames } from "../lib/parse.ts";
import { expectAccount, expectRecipient, type OpenedStore, withStore } from "../lib/with-store.ts";

const owner = {
  account: {
    value: "A",
    description: "Id or e-mail of the account, or name of a team (default: each account by itself)",
  },
  key: { value: "ID", description: "An API key, in addition to the limits of its account" },
} as const;

export const limitSet = defineCommand({
  name: "limit set",
  description: "Limit the calls of one model, of each account, of one account or of an API key",
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
        "No limit is given; name one of --requests-per-minute, --tokens-per-minute, --concurrent-calls",
      );
    }
    const model = await parseModel(args.MODEL, context, config);
    const set = async (opened: OpenedStore) =>
      setModelLimits(opened.store, { by: commandLine, ...(await findOwner(opened, flags)), model, ...limits }, now);
    const { id } = await withStore(config, set, now);
    return {
      json: { id, model: args.MODEL },
      text: `The limits of ${args.MODEL} are set; delete them with modelgate limit delete ${id}`,
    };
  },
});

export const limitList = defineCommand({
  name: "limit list",
  description: "List the limits of models",
  flags: {
    account: { value: "A", description: "Only those of this account and its keys, by id, e-mail or name of a team" },
  },
  args: [],
  example: "limit list",
  async run(context, { flags, config, now }) {
    const nameOfModel = await readModelNames(context, config);
    const json = await withStore(
      config,
      async ({ store, accounts }) => {
        const account = flags.account === undefined ? undefined : await expectAccount(accounts, flags.account);
        const labels = new Map((await accounts.list()).map((each) => [each.id, getAccountLabel(each)]));
        const list = await listModelLimits(store, account && [account.id], Number.MAX_SAFE_INTEGER);
        return list.map(({ id, account_id, key_id, model, ...limits }) => ({
          id,
          model: nameOfModel(model),
          account: account_id === eachAccount ? null : (labels.get(account_id) ?? account_id),
          key: key_id === "" ? null : key_id,
          requests_per_minute: limits.requests_per_minute,
          tokens_per_minute: limits.tokens_per_minute,
          concurrent_calls: limits.concurrent_calls,
        }));
      },
      now,
    );
    const rows = json.map((row) => [
      row.id,
      row.model,
      row.key ?? row.account ?? "each account",
      ...[row.requests_per_minute, row.tokens_per_minute, row.concurrent_calls].map((limit) => String(limit ?? "–")),
    ]);
    const head = ["id", "model", "of", "requests/min", "tokens/min", "at once"];
    const empty = "No model has limits of its own; set one with modelgate limit set";
    return { json, text: rows.length === 0 ? empty : columns([head, ...rows]) };
  },
});

export const limitDelete = defineCommand({
  name: "limit delete",
  description: "Delete the limits of a model, by the id that limit list shows",
  flags: {},
  args: ["ID"],
  example: "limit delete ID",
  async run(context, { args, config, now }) {
    const nameOfModel = await readModelNames(context, config);
    const remove = async ({ store }: OpenedStore) => {
      const row = await readModelLimits(store, undefined, args.ID);
      await deleteModelLimits(store, { by: commandLine, accountId: row.account_id, id: row.id }, now);
      return row.model;
    };
    const model = await withStore(config, remove, now);
    return { json: { id: args.ID, deleted: true }, text: `The limits of ${nameOfModel(model)} are deleted` };
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
