import { Type } from "@sinclair/typebox";
import { formatUsd, GatewayError, toSalePrice } from "../../contract/index.ts";
import { endSession, listSessions } from "../../identity/index.ts";
import { mayUse } from "../../kernel/index.ts";
import { getFreeQuota } from "../../keys/index.ts";
import { getDisplayName, type Model } from "../../provider/index.ts";
import { isOfSandbox } from "../../providers/index.ts";
import {
  lowDays,
  readLatestCalls,
  readRecentCalls,
  readRefusalReasons,
  readStatement,
  readWalletPace,
  toStatementLineJson,
} from "../../reports/index.ts";
import { toVirtualModel } from "../api/models.ts";
import type { HttpDeps } from "../deps.ts";
import { toCsvText } from "../forms/download.ts";
import { CursorQuery, readCursor } from "../forms/read-fields.ts";
import {
  PageNumber,
  pageSize,
  toCallJson,
  toLatestCallsJson,
  toQuotaJson,
  toSessionJson,
  toStatementPage,
  toWalletJson,
} from "../forms/serializers.ts";
import { withAnySession, withOwnSession, withSession } from "../lifecycle/session.ts";

const MeQuery = Type.Object({ calls: Type.Optional(Type.String({ maxLength: 40 })) });
const csvColumns = ["at", "kind", "amount_usd", "balance_usd", "note"] as const;

/**
 * GET /me: who is signed in; also for users who have to change their password first. With `calls`, the stamp of the calls
 * on the screen, it returns the latest calls, or `null` when they are unchanged: this is all that an open page polls.
 */
export function meController(deps: HttpDeps) {
  const { config, ledger, store } = deps;
  const route = withAnySession(deps);
  return [
    route.get(
      "/me",
      async ({
        user: { accountId, email, emailVerified, name, role, passwordIsTemporary, secondFactor, ...user },
        query: { calls: seen },
      }) => {
        const limit = getFreeQuota(user, config);
        const [wallet, quota, latest] = await Promise.all([
          ledger.readWalletState(accountId),
          ledger.readQuotaState({ accountId, freeTokensPerDay: limit }),
          seen === undefined || passwordIsTemporary
            ? undefined
            : readLatestCalls(store, accountId, { limit: pageSize, seen }),
        ]);
        const person = {
          email,
          email_verified: emailVerified,
          name,
          role,
          password_is_temporary: passwordIsTemporary,
          second_factor: secondFactor,
        };
        const money = { wallet: toWalletJson(wallet), quota: toQuotaJson(quota) };
        const calls = latest === undefined ? null : toLatestCallsJson(latest);
        const team = { team_role: user.teamRole, own_account: user.ownAccountId };
        const account = { account: accountId, account_name: user.accountName ?? user.accountEmail, ...team };
        return { ...account, ...person, ...money, calls };
      },
      { query: MeQuery },
    ),
  ];
}

/** A model as the dashboard lists it. `name` is its display name; `members` are the members of a virtual model. */
type ListedModel = Model & {
  readonly name: string;
  readonly members: readonly string[] | null;
  /** The sandbox makes its answers up. */
  readonly simulated?: true;
};

/** The account of the user: statement, calls and models. */
export function accountController(deps: HttpDeps) {
  const { store } = deps;
  const route = withSession(deps);
  return [
    route.get(
      "/entries",
      async ({ user, query }) =>
        toStatementPage(await readStatement(store, user.accountId), query, user.role !== "member"),
      {
        query: PageNumber,
      },
    ),
    route.get("/entries.csv", async ({ user }) => {
      const now = deps.now();
      // The charges of today are as of now, and not of its end.
      const lines = (await readStatement(store, user.accountId)).map((line) => {
        const json = toStatementLineJson({ ...line, at: Math.min(line.at, now) });
        // As the page calls it.
        return { ...json, kind: json.kind === "charges" ? "usage" : json.kind };
      });
      const rows = lines.map((line) => csvColumns.map((name) => (name === "note" ? toCsvText(line.note) : line[name])));
      const file = [csvColumns, ...rows].map((row) => `${row.join(",")}\r\n`).join("");
      const headers = {
        "content-type": "text/csv; charset=utf-8",
        "content-disposition": 'attachment; filename="modelgate-entries.csv"',
      };
      return new Response(file, { headers });
    }),
    route.get(
      "/calls",
      async ({ user, query }) => {
        const page = { limit: pageSize, before: readCursor(query) };
        return { data: (await readRecentCalls(store, user.accountId, page)).map(toCallJson) };
      },
      { query: CursorQuery },
    ),
    route.get("/models", ({ user }) => {
      const accountModels = user.allowedModels && new Set(user.allowedModels);
      const { registry } = deps.kernel;
      const models = [...registry.modelEntries].map((entry): ListedModel => {
        const { model, markupBasisPoints = 0 } = entry;
        const { price: ofProvider, ...facts } = model;
        const price = ofProvider && toSalePrice(ofProvider, user.markupBasisPoints ?? markupBasisPoints);
        const shown = {
          ...facts,
          ...(price !== undefined && { price }),
          ...(isOfSandbox(entry) && { simulated: true as const }),
        };
        return { ...shown, name: getDisplayName(model), members: null };
      });
      const virtual = [...registry.virtualModels.values()].flatMap((each): ListedModel[] => {
        const model = toVirtualModel(each, registry);
        const members = each.members.map(({ name }) => name);
        return model === undefined ? [] : [{ ...model, name: each.id, members }];
      });
      const isAllowed = ({ id, members }: ListedModel) =>
        members === null
          ? mayUse({ accountModels }, id)
          : members.some((name) => mayUse({ accountModels }, registry.byName(name)?.model.id ?? name, id));
      return { data: [...models, ...virtual].filter(isAllowed) };
    }),
    route.get("/wallet", ({ user }) => forecastWallet(deps, user.accountId)),
  ];
}

const dayMs = 86_400_000;

/**
 * How long the wallet of an account lasts at the pace of its last days, and who gives credit. `daily_usd` and `days_left` are
 * null where it paid for nothing lately; `is_refused` says that a request was refused today for want of money, after the last
 * credit.
 */
async function forecastWallet({ store, ledger, config, now }: HttpDeps, accountId: string) {
  const at = now();
  const today = Math.floor(at / dayMs) * dayMs;
  const creditedAt = await readLastCredit(store, accountId);
  const from = creditedAt === undefined ? today : Math.max(today, creditedAt);
  const [wallet, pace, reasons] = await Promise.all([
    ledger.readWalletState(accountId),
    readWalletPace(store, at, accountId),
    readRefusalReasons(store, { accountId, keyId: undefined, from, until: today + dayMs }),
  ]);
  return {
    balance_usd: formatUsd(wallet.balanceNanodollars),
    daily_usd: pace === undefined ? null : formatUsd(pace.dailyNanodollars),
    days_left: pace?.daysLeft ?? null,
    is_low: pace !== undefined && pace.daysLeft < lowDays,
    is_refused: reasons.some(({ code }) => code === "insufficient_balance"),
    // Where anybody may sign up, the owner's address is not for everybody.
    contact: config.signUp === "open" ? null : await readOwnerEmail(store),
  };
}

/** When an account was credited last, milliseconds since 1970. */
async function readLastCredit({ db }: HttpDeps["store"], accountId: string): Promise<number | undefined> {
  const row = await db
    .selectFrom("transactions")
    .select("at")
    .where("account_id", "=", accountId)
    .where("kind", "=", "credit")
    .orderBy("at", "desc")
    .limit(1)
    .executeTakeFirst();
  return row?.at;
}

/** The e-mail of the first owner, who gives credit. */
async function readOwnerEmail({ db }: Pick<HttpDeps["store"], "db">): Promise<string | null> {
  const row = await db
    .selectFrom("users")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select("accounts.email")
    .where("users.role", "=", "owner")
    .where("accounts.disabled_at", "is", null)
    .orderBy("users.created_at")
    .executeTakeFirst();
  return row?.email ?? null;
}

/** The sessions of the user: list and end. */
export function sessionsController(deps: HttpDeps) {
  const { store } = deps;
  const route = withOwnSession(deps, "/sessions");
  return [
    route.get("", async ({ user }) => ({
      data: (await listSessions(store, user.userId, deps.now())).map((session) => ({
        ...toSessionJson(session),
        is_this_one: session.id === user.sessionId,
      })),
    })),
    route.delete("/:id", async ({ user, params: { id } }) => {
      if (await endSession(store, user.userId, id)) return { id };
      throw new GatewayError("not_found", "No session has this id; it may have ended");
    }),
  ];
}
