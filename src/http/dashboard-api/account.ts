import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { endSession, getFreeQuota, listSessions, redeemedVouchers, redeemVoucher } from "../../accounts/index.ts";
import { formatUsd, GatewayError } from "../../contract/index.ts";
import { mayUse } from "../../kernel/index.ts";
import { readLatestCalls, readRecentCalls, readStatement } from "../../reports/index.ts";
import type { HttpDeps } from "../deps.ts";
import { formBody } from "../lifecycle/validation-errors.ts";
import { toCsvText } from "./download.ts";
import { CursorQuery, readCursor, readUsd } from "./read-fields.ts";
import {
  PageQuery,
  pageSize,
  toCallJson,
  toLatestCallsJson,
  toQuotaJson,
  toSessionJson,
  toStatementLineJson,
  toStatementPage,
  toVoucherJson,
  toWalletJson,
} from "./serializers.ts";
import { withAnySession, withOwnSession, withSession } from "./session.ts";

const MeQuery = Type.Object({ calls: Type.Optional(Type.String({ maxLength: 40 })) });
const Redeem = formBody({ code: Type.String({ minLength: 1, maxLength: 100 }) });
const Checkout = formBody({ usd: Type.String({ minLength: 1, maxLength: 30 }) });
const csvColumns = ["at", "kind", "amount_usd", "balance_usd", "note"] as const;

/**
 * GET /me: who is signed in; also for users who have to change their password first. With `calls`, the stamp of the calls
 * on the screen, it returns the latest calls, or `null` when they are unchanged: this is all that an open page polls.
 */
export function meController(deps: HttpDeps) {
  const { config, ledger, store } = deps;
  return new Elysia().use(withAnySession(deps)).get(
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
        ...{ email, email_verified: emailVerified, name, role },
        ...{ password_is_temporary: passwordIsTemporary, second_factor: secondFactor },
      };
      const money = { wallet: toWalletJson(wallet), quota: toQuotaJson(quota) };
      const calls = latest === undefined ? null : toLatestCallsJson(latest);
      const team = { team_role: user.teamRole, own_account: user.ownAccountId };
      const account = { account: accountId, account_name: user.accountName ?? user.accountEmail, ...team };
      return { ...account, ...person, ...money, calls };
    },
    { query: MeQuery },
  );
}

/** The account of the user: statement, calls, models and vouchers. */
export function accountController(deps: HttpDeps) {
  const { store } = deps;
  return new Elysia()
    .use(withSession(deps))
    .get("/entries", async ({ user, query }) => toStatementPage(await readStatement(store, user.accountId), query), {
      query: PageQuery,
    })
    .get("/entries.csv", async ({ user, set }) => {
      set.headers["content-type"] = "text/csv; charset=utf-8";
      set.headers["content-disposition"] = 'attachment; filename="modelgate-entries.csv"';
      const now = deps.now();
      // The charges of today are as of now, and not of its end.
      const lines = (await readStatement(store, user.accountId)).map((line) => {
        const json = toStatementLineJson({ ...line, at: Math.min(line.at, now) });
        // As the page calls it.
        return { ...json, kind: json.kind === "charges" ? "usage" : json.kind };
      });
      const rows = lines.map((line) => csvColumns.map((name) => (name === "note" ? toCsvText(line.note) : line[name])));
      return [csvColumns, ...rows].map((row) => `${row.join(",")}\r\n`).join("");
    })
    .get(
      "/calls",
      async ({ user, query }) => {
        const page = { limit: pageSize, ...readCursor(query) };
        return { data: (await readRecentCalls(store, user.accountId, page)).map(toCallJson) };
      },
      { query: CursorQuery },
    )
    .get("/models", ({ user }) => {
      const accountModels = user.allowedModels && new Set(user.allowedModels);
      const models = [...deps.kernel.registry.modelEntries].map(({ model }) => model);
      return { data: models.filter(({ id }) => mayUse({ accountModels }, id)) };
    })
    .get("/vouchers", async ({ user }) => ({
      data: (await redeemedVouchers(store, user.accountId)).map(toVoucherJson),
    }))
    .post(
      "/vouchers/redeem",
      async ({ user: { accountId }, body: { code } }) => {
        const { nanodollars } = await redeemVoucher(store, { accountId, code }, deps.now());
        return { usd: formatUsd(nanodollars) };
      },
      { body: Redeem },
    );
}

/** POST /checkout: where the browser goes to pay. The wallet is credited by the webhook of the payment provider. */
export function checkoutController(deps: HttpDeps) {
  return new Elysia()
    .use(withSession(deps))
    .post(
      "/checkout",
      ({ user: { accountId, email }, body: { usd } }) =>
        deps.beginPayment({ accountId, email, nanodollars: readUsd(usd) }),
      { body: Checkout },
    );
}

/** The sessions of the user: list and end. */
export function sessionsController(deps: HttpDeps) {
  const { store } = deps;
  return new Elysia({ prefix: "/sessions" })
    .use(withOwnSession(deps))
    .get("", async ({ user }) => ({
      data: (await listSessions(store, user.userId, deps.now())).map((session) => ({
        ...toSessionJson(session),
        is_this_one: session.id === user.sessionId,
      })),
    }))
    .delete("/:id", async ({ user, params: { id } }) => {
      if (await endSession(store, user.userId, id)) return { id };
      throw new GatewayError("not_found", "There is no such session; it may have ended already");
    });
}
