import type { Transaction } from "kysely";
import { recordAudit } from "../audit/index.ts";
import { GatewayError } from "../contract/index.ts";
import { type Database, isConstraintError, type Store } from "../db/index.ts";
import { expectInvited, newAccountRow, readTeamInvitation, takeTeamInvitation } from "../tenants/index.ts";
import { missing } from "./auth-http.ts";
import type { AuthOptions } from "./better-auth.ts";
import { hashPassword } from "./password.ts";
import { checkPassword, writePassword } from "./set-password.ts";

interface SignUpOptions extends Pick<AuthOptions, "passwords"> {
  readonly store: Store;
  readonly signUp: "open" | "closed";
  readonly now: () => number;
}

/**
 * Creates an account with its user and password, without signing in. If the e-mail already has an account, nothing
 * changes, and neither the result nor the work reveals that. An invitation to a team gives permission even if sign-up
 * is closed, and is used up; the new account then has no free quota of its own. The e-mail is only claimed, unless an
 * operator sent the invitation to this e-mail alone.
 *
 * @throws {GatewayError} `forbidden` where sign-up is closed, `not_found` for the invitation, `invalid_request`
 */
export async function signUp(
  { store, signUp, now, passwords }: SignUpOptions,
  { email, password, name, invitation }: Record<string, unknown>,
): Promise<void> {
  const token = typeof invitation === "string" ? invitation : undefined;
  if (signUp === "closed" && token === undefined) {
    throw new GatewayError("forbidden", "Sign-up is closed; ask the operator of this gateway for an invitation");
  }
  if (typeof email !== "string") throw missing("email");
  if (typeof password !== "string") throw missing("password");
  checkPassword(password);
  const row = newAccountRow({ email, name: typeof name === "string" ? name : undefined }, now());
  const account = { ...row, free_tokens_per_day: signUp === "closed" ? 0 : null };
  // Hashing a password takes a lot of CPU, so unknown tokens are refused first.
  if (token !== undefined) expectInvited(await readTeamInvitation(store, token, now()), account.email);
  const hash = await (passwords?.hash ?? hashPassword)(password);
  const write = { accountId: account.id, hash, temporary: false, role: "member", claimed: true } as const;
  try {
    await store.db.transaction().execute(async (db) => {
      await db.insertInto("accounts").values(account).execute();
      await writePassword(db, write, now());
      if (token !== undefined) await joinAtSignUp(db, { token, personId: account.id }, now());
    });
  } catch (error) {
    if (!isConstraintError(error)) throw error;
  }
}

async function joinAtSignUp(
  db: Transaction<Database>,
  invitation: { token: string; personId: string },
  now: number,
): Promise<void> {
  const { accountId, joinedAs, isVouchedFor } = await takeTeamInvitation(db, invitation, now);
  const { personId } = invitation;
  if (isVouchedFor) {
    await db.updateTable("users").set({ email_verified: 1 }).where("account_id", "=", personId).execute();
  }
  const detail = { role: joinedAs ?? null };
  await recordAudit({ db }, { accountId: personId, action: "team.join", subject: accountId, detail }, now);
}
