import { Elysia } from "elysia";
import { type DeskGround, signedInAtAll } from "../session.ts";
import { quotaFigures, walletFigures } from "./figures.ts";

/** GET /me: who is signed in. It also answers who has to change the password first, and says so. */
export function meController(ground: DeskGround) {
  const { desk, ledger } = ground;
  return new Elysia().use(signedInAtAll(ground)).get(
    "/me",
    async ({ visitor: { accountId, email, name, role, passwordIsTemporary, secondFactor, freeTokensPerDay } }) => {
      const limit = freeTokensPerDay ?? desk.freeTokensPerDay;
      const [wallet, quota] = await Promise.all([
        ledger.walletOf(accountId),
        ledger.quotaOf({ accountId, freeTokensPerDay: limit }),
      ]);
      const person = { email, name, role, password_is_temporary: passwordIsTemporary, second_factor: secondFactor };
      return { account: accountId, ...person, wallet: walletFigures(wallet), quota: quotaFigures(quota) };
    },
    { detail: { hide: true } },
  );
}
