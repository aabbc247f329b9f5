import type { Store } from "../../store/index.ts";
import { newAccountRow } from "../account-admin.ts";
import { makePerson } from "../people.ts";
import type { Identity } from "./identity.ts";

/** How better-auth calls the issuer's credentials. */
export const oidcProvider = "oidc";

/**
 * Sees that whoever may come in is a person here: the holder of an account of that verified e-mail, and where strangers
 * may make accounts anyone with one. All others are left unknown, and are refused for it.
 */
export async function welcomeIdentity(
  store: Store,
  { id, email, emailVerified, name }: Identity,
  { signUp, now }: { signUp: "open" | "closed"; now: number },
): Promise<void> {
  if (email === undefined || !emailVerified) return;
  const known = await store.db
    .selectFrom("credentials")
    .select("id")
    .where("provider_id", "=", oidcProvider)
    .where("provider_account_id", "=", id)
    .executeTakeFirst();
  if (known !== undefined) return;
  const account = await store.db.selectFrom("accounts").select("id").where("email", "=", email).executeTakeFirst();
  if (account === undefined && signUp === "closed") return;
  await store.db.transaction().execute(async (db) => {
    let accountId = account?.id;
    if (accountId === undefined) {
      const row = newAccountRow({ email, name }, now);
      await db.insertInto("accounts").values(row).execute();
      accountId = row.id;
    }
    // Somebody who is there stays as is: an e-mail that was only claimed at a sign-up is not verified by this.
    await makePerson(db, { accountId, role: "member", emailVerified: true }, now);
  });
}
