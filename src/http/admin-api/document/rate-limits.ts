import { type Static, Type } from "@sinclair/typebox";
import {
  checkModelLimits,
  deleteModelLimits,
  listModelLimits,
  type StoredModelLimits,
  setModelLimits,
} from "../../../tenants/index.ts";
import { limitFields } from "../../forms/read-fields.ts";
import { toLimitsJson } from "../../forms/serializers.ts";
import { removable } from "../lists.ts";
import { idOfLimitedModel } from "../rate-limits.ts";
import {
  closed,
  entriesMax,
  entriesOf,
  expectFew,
  findOwner,
  OptionalAccount,
  planEntries,
  readAccountNames,
  readOwnerId,
  Status,
  Text,
  toKeyIdHere,
} from "./plan-entries.ts";
import { defineSection } from "./section.ts";

const RateLimitEntry = Type.Object(
  {
    account: OptionalAccount,
    api_key_id: removable({ ...Text(100), description: "`null`: all keys of the account together" }),
    model: Text(200),
    ...limitFields,
    status: Status,
  },
  closed,
);
type RateLimitEntry = Static<typeof RateLimitEntry>;

/** Limits of single models. Those are found by whom they bind. */
export const rateLimits = defineSection({
  schema: entriesOf(RateLimitEntry, { description: "Of single models; others stand with what they bind" }),
  area: "accounts",
  async read(deps) {
    const emails = await readAccountNames(deps);
    const stored = await listModelLimits(deps.store, undefined, entriesMax + 1);
    expectFew("rate_limits", stored.length);
    return stored.flatMap((limits) => {
      const entry = { api_key_id: limits.keyId ?? null, model: limits.model, ...toLimitsJson(limits.limits) };
      if (limits.accountId === undefined) return [entry];
      const account = emails.get(limits.accountId);
      return account === undefined ? [] : [{ account, ...entry }];
    });
  },
  async plan(planning, value) {
    const { deps, admin: by } = planning;
    const { store, now } = deps;
    const entries = value.map((entry) => ({ ...entry, model: idOfLimitedModel(deps, entry.model) }));
    if (entries.length === 0) return [];
    const ownerOf = ({ account: email }: RateLimitEntry) =>
      email === undefined ? undefined : findOwner(planning, { section: "rate_limits", what: "a limit", email });
    const stored = await listModelLimits(store, undefined, Number.MAX_SAFE_INTEGER);
    const find = (entry: RateLimitEntry) => {
      const owner = ownerOf(entry);
      // A new account has none.
      if (entry.account !== undefined && owner === undefined) return undefined;
      const keyId = toKeyIdHere(planning, entry.api_key_id);
      return stored.find((one) => one.accountId === owner?.id && one.keyId === keyId && one.model === entry.model);
    };
    /** Limits that an entry leaves out stay. */
    const targetOf = (entry: RateLimitEntry) => {
      const current = find(entry)?.limits;
      const read = (value: number | null | undefined, before: number | undefined) =>
        value === undefined ? before : (value ?? undefined);
      const limits = {
        requestsPerMinute: read(entry.requests_per_minute, current?.requestsPerMinute),
        tokensPerMinute: read(entry.tokens_per_minute, current?.tokensPerMinute),
        concurrentCalls: read(entry.concurrent_calls, current?.concurrentCalls),
      };
      return { keyId: toKeyIdHere(planning, entry.api_key_id), model: entry.model, limits };
    };
    const set = async (entry: RateLimitEntry) => {
      const accountId = entry.account === undefined ? undefined : await readOwnerId(planning, entry.account);
      return await setModelLimits(store, { by, accountId, ...targetOf(entry) }, now());
    };
    return await planEntries<RateLimitEntry, StoredModelLimits>(entries, {
      section: "rate_limits",
      label: ({ account = "each account", model, api_key_id: key }) =>
        [account, model, ...(key == null ? [] : [key])].join(" "),
      owner: ownerOf,
      find,
      toTarget: ({ requests_per_minute, tokens_per_minute, concurrent_calls }) => ({
        requests_per_minute,
        tokens_per_minute,
        concurrent_calls,
      }),
      toCurrent: ({ limits }) => toLimitsJson(limits),
      check: (entry) => checkModelLimits({ accountId: entry.account, ...targetOf(entry) }),
      create: set,
      change: (_, entry) => set(entry),
      remove: ({ accountId, id }) => deleteModelLimits(store, { by, accountId, id }, now()),
    });
  },
});
