import {
  accountLabel,
  answerColumns,
  formatUsd,
  GatewayError,
  promptColumns,
  sumColumns,
} from "../../contract/index.ts";
import { dayOf } from "../../db/index.ts";
import { listSessions } from "../../identity/index.ts";
import { getFreeQuota, listAdminKeys } from "../../keys/index.ts";
import { readStatement, readUsageBuckets } from "../../reports/index.ts";
import {
  type Account,
  countKeysElsewhere,
  findTeamsWithoutAdmin,
  findUser,
  listKeysElsewhere,
  listTeamsOf,
  type RoleLimits,
  readRoleLimits,
} from "../../tenants/index.ts";
import type { HttpDeps } from "../deps.ts";
import { displayNameOf } from "../forms/read-fields.ts";
import {
  PageNumber,
  toAccountJson,
  toQuotaJson,
  toSessionJson,
  toStatementPage,
  toWalletJson,
} from "../forms/serializers.ts";
import { withAdminSession } from "../lifecycle/session.ts";
import { toKeysJson } from "./keys.ts";

/** The days of usage that the page of an account shows. */
const usageDays = 30;

/** Keys in other accounts that are named; all are counted. */
const keysElsewhereMax = 20;

/** One account and its user, for administrators: what its page shows. */
export function adminAccountController(deps: HttpDeps) {
  const { store, now, accounts } = deps;
  const getAccount = async (id: string) => {
    const account = await accounts.find(id);
    // The address of a page has an id, not an e-mail.
    if (account?.id === id) return account;
    throw new GatewayError("not_found", "There is no account with this id");
  };
  const route = withAdminSession(deps, "/admin/accounts/:id");
  return [
    route.get("", async ({ params: { id } }) => {
      const account = await getAccount(id);
      const user = await findUser(store, id);
      const isEmailClaimed = account.holder === "claimed";
      const ofRole = await readRoleLimits(store, id);
      const quotaOwner = { ...account, roleFreeTokensPerDay: ofRole.free_tokens_per_day ?? undefined, isEmailClaimed };
      const freeTokensPerDay = getFreeQuota(quotaOwner, deps.config);
      const [wallet, quota] = await Promise.all([
        deps.ledger.readWalletState(id),
        deps.ledger.readQuotaState({ accountId: id, freeTokensPerDay }),
      ]);
      const orphans = await findTeamsWithoutAdmin(store, { accountIds: [id] });
      const teams = await listTeamsOf(store, id);
      const administered = teams.flatMap((team) => (team.role === "admin" ? [team.id] : []));
      const alone = await findTeamsWithoutAdmin(store, { accountIds: administered, without: id });
      const sessions = user === undefined ? [] : await listSessions(store, user.id, now());
      const signIn = {
        role: user?.role ?? null,
        second_factor: user?.secondFactor ?? false,
      };
      return {
        ...toAccountJson(account, new Set(orphans.map((team) => team.id))),
        ...signIn,
        wallet: toWalletJson(wallet),
        quota: toQuotaJson(quota),
        limits: toLimitsJson(deps, account, ofRole),
        /** Whether the quota comes from the role. An account with an unverified e-mail does not get it. */
        is_quota_of_role: ofRole.free_tokens_per_day !== null && !isEmailClaimed,
        sessions: sessions.map(toSessionJson),
        teams: teams.map((team) => ({
          id: team.id,
          name: accountLabel(team),
          role: team.role,
          is_only_admin: alone.some((one) => one.id === team.id),
          joined_at: new Date(team.joinedAt).toISOString(),
        })),
        admin_keys: await listAdminKeysOf(deps, id),
        keys_elsewhere: {
          count: await countKeysElsewhere(store, id, now()),
          data: (await listKeysElsewhere(store, { personId: id, limit: keysElsewhereMax }, now())).map((key) => ({
            id: key.id,
            name: key.name,
            account: key.account.id,
            account_name: accountLabel(key.account),
          })),
        },
      };
    }),
    route.get("/keys", async ({ params: { id } }) => {
      await getAccount(id);
      const { keys, hasMore } = await accounts.listShownKeys(id);
      return { data: await toKeysJson(store, keys), has_more: hasMore };
    }),
    route.get(
      "/entries",
      async ({ params: { id }, query }) => {
        await getAccount(id);
        return toStatementPage(await readStatement(store, id), query, true);
      },
      { query: PageNumber },
    ),
    route.get("/usage", async ({ params: { id } }) => {
      await getAccount(id);
      const endDay = dayOf(now());
      const { totals } = await readUsageBuckets(store, id, {
        period: "daily",
        startDay: endDay - usageDays + 1,
        endDay,
      });
      const data = [...totals.byModel].map(([model, figures]) => ({
        model,
        model_name: displayNameOf(deps, model),
        requests: figures.requests,
        failures: figures.failures,
        tokens: sumColumns(figures, [...promptColumns, ...answerColumns]),
        cost_usd: formatUsd(figures.cost_nanodollars),
        charged_usd: formatUsd(figures.charged_nanodollars),
      }));
      return { days: usageDays, data: data.sort((one, other) => Number(other.cost_usd) - Number(one.cost_usd)) };
    }),
  ];
}

/** The usable admin keys that a person made; they are refused while the person is disabled. */
async function listAdminKeysOf({ store, now }: HttpDeps, personId: string) {
  const keys = await listAdminKeys(store, now());
  return keys
    .filter((key) => key.createdBy === personId && key.revokedAt === undefined && (key.expiresAt ?? now()) >= now())
    .map(({ id, name }) => ({ id, name }));
}

/** The limits in force, and those that are the account's own or of its role. */
function toLimitsJson({ config }: HttpDeps, account: Account, ofRole: RoleLimits) {
  return {
    requests_per_minute: account.requestsPerMinute ?? ofRole.requests_per_minute ?? config.requestsPerMinute,
    tokens_per_minute: account.tokensPerMinute ?? ofRole.tokens_per_minute ?? config.tokensPerMinute,
    concurrent_calls: account.concurrentCalls ?? ofRole.concurrent_calls ?? config.concurrentCalls ?? null,
    role_requests_per_minute: ofRole.requests_per_minute,
    role_tokens_per_minute: ofRole.tokens_per_minute,
    role_concurrent_calls: ofRole.concurrent_calls,
    own_requests_per_minute: account.requestsPerMinute ?? null,
    own_tokens_per_minute: account.tokensPerMinute ?? null,
    own_concurrent_calls: account.concurrentCalls ?? null,
  };
}
