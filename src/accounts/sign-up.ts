import { GatewayError } from "../contract/index.ts";
import { isConstraintError, type Store } from "../db/index.ts";
import { newAccountRow } from "./account-admin.ts";
import { missing } from "./auth-request.ts";
import { hashPassword } from "./password.ts";
import { checkPassword, writePassword } from "./people.ts";

interface SignUpGround {
  readonly store: Store;
  readonly signUp: "open" | "closed";
  readonly now: () => number;
}

/** Makes the account, its person and the password at once. @throws {GatewayError} */
export async function makeAccount(
  { store, signUp, now }: SignUpGround,
  { email, password, name }: Record<string, unknown>,
): Promise<void> {
  if (signUp === "closed") {
    throw new GatewayError(
      "forbidden",
      "Nobody can sign up here by themselves; ask who runs this gateway for an invitation",
    );
  }
  if (typeof email !== "string") throw missing("email");
  if (typeof password !== "string") throw missing("password");
  checkPassword(password);
  const account = newAccountRow({ email, name: typeof name === "string" ? name : undefined }, now());
  const hash = await hashPassword(password);
  const write = { accountId: account.id, hash, temporary: false, role: "member", claimed: true } as const;
  try {
    await store.db.transaction().execute(async (db) => {
      await db.insertInto("accounts").values(account).execute();
      await writePassword(db, write, now());
    });
  } catch (error) {
    if (!isConstraintError(error)) throw error;
    throw new GatewayError("conflict", "This e-mail has an account; sign in, or ask for an invitation to it", {
      param: "email",
      cause: error,
    });
  }
}
