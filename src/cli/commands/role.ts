import { commandLine } from "../../audit/index.ts";
import { accountRoles, changeRoleLimits, listRoleLimits } from "../../tenants/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { columns } from "../lib/format.ts";
import { parseCount, parseLimit, parseOrNone } from "../lib/parse.ts";
import { withStore } from "../lib/with-store.ts";

type RoleRow = Awaited<ReturnType<typeof listRoleLimits>>[number];

const changeFlags = {
  "requests-per-minute": { value: "N", description: "Requests per minute, or none for the configured limit" },
  "tokens-per-minute": { value: "N", description: "Tokens per minute, or none for the configured limit" },
  "concurrent-calls": { value: "N", description: "Concurrent calls, or none for the configured limit" },
  "free-tokens-per-day": { value: "N", description: "Daily free quota in tokens, or none for the configured one" },
} as const;

export const roleSet = defineCommand({
  name: "role set",
  description: "Set the limits of all accounts of a role that have none of their own; omitted flags are unchanged",
  flags: changeFlags,
  args: ["ROLE"],
  choices: { ROLE: accountRoles },
  example: "role set member --requests-per-minute 60 --free-tokens-per-day 100000",
  async run(_context, { flags, args, config, now }) {
    const role = accountRoles.find((name) => name === args.ROLE.toLowerCase());
    if (role === undefined) {
      throw new UsageError(`There is no role ${args.ROLE}, expected one of ${accountRoles.join(", ")}`);
    }
    if (Object.values(flags).every((value) => value === undefined)) {
      throw new UsageError(`Nothing to change, expected one of --${Object.keys(changeFlags).join(", --")}`);
    }
    const read = (flag: keyof typeof changeFlags) => parseOrNone(flags[flag], (text) => parseLimit(`--${flag}`, text));
    const changes = {
      requestsPerMinute: read("requests-per-minute"),
      tokensPerMinute: read("tokens-per-minute"),
      concurrentCalls: read("concurrent-calls"),
      freeTokensPerDay: parseOrNone(flags["free-tokens-per-day"], (text) => parseCount("--free-tokens-per-day", text)),
    };
    const limits = await withStore(config, ({ store }) =>
      changeRoleLimits(store, { by: commandLine, role, changes }, now),
    );
    const row = { role, ...limits };
    return { json: toJson(row), text: toText([row]) };
  },
});

export const roleList = defineCommand({
  name: "role list",
  description: "List the limits of each role",
  flags: {},
  args: [],
  example: "role list",
  async run(_context, { config }) {
    const list = await withStore(config, ({ store }) => listRoleLimits(store));
    return { json: list.map(toJson), text: toText(list) };
  },
});

function toJson({ role, requestsPerMinute, tokensPerMinute, concurrentCalls, freeTokensPerDay }: RoleRow) {
  return {
    role,
    requests_per_minute: requestsPerMinute ?? null,
    tokens_per_minute: tokensPerMinute ?? null,
    concurrent_calls: concurrentCalls ?? null,
    free_tokens_per_day: freeTokensPerDay ?? null,
  };
}

function toText(list: readonly RoleRow[]): string {
  const rows = list.map((row) => {
    const { role, ...limits } = toJson(row);
    return [role, ...Object.values(limits).map((limit) => (limit === null ? "configured" : String(limit)))];
  });
  return columns([["role", "requests/min", "tokens/min", "at once", "free tokens/day"], ...rows]);
}
