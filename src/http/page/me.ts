import { Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { readLatestCalls } from "../../ledger/index.ts";
import type { HttpDeps } from "../deps.ts";
import { signedInAtAll } from "../session.ts";
import { latestFigures, linesOfPage, quotaFigures, walletFigures } from "./figures.ts";

const MeQuery = Type.Object({ calls: Type.Optional(Type.String({ maxLength: 40 })) });

/**
 * GET /me: who is signed in. It also answers who has to change the password first, and says so. Asked with the stamp of
 * the latest calls that are on the screen (`calls`), it tells those there are now, or `null` when they are the same: an
 * open page asks this every few seconds, and nothing else.
 */
export function meController(deps: HttpDeps) {
  const { config, ledger, store } = deps;
  return new Elysia().use(signedInAtAll(deps)).get(
    "/me",
    async ({
      visitor: { accountId, email, name, role, passwordIsTemporary, secondFactor, freeTokensPerDay },
      query: { calls: seen },
    }) => {
      const limit = freeTokensPerDay ?? config.freeTokensPerDay;
      const [wallet, quota, latest] = await Promise.all([
        ledger.walletOf(accountId),
        ledger.quotaOf({ accountId, freeTokensPerDay: limit }),
        seen === undefined || passwordIsTemporary
          ? undefined
          : readLatestCalls(store, accountId, { limit: linesOfPage, seen }),
      ]);
      const person = { email, name, role, password_is_temporary: passwordIsTemporary, second_factor: secondFactor };
      const money = { wallet: walletFigures(wallet), quota: quotaFigures(quota) };
      return { account: accountId, ...person, ...money, calls: latest === undefined ? null : latestFigures(latest) };
    },
    { detail: { hide: true }, query: MeQuery },
  );
}
