import type { Transaction } from "kysely";
import { checkName, GatewayError, toRealEmail, toTeamAddress } from "../contract/index.ts";
import type { Database } from "../db/index.ts";
import { accountRowOf, newAccountId } from "./accounts.ts";
import { lockAccount } from "./lock-account.ts";
import { listPeople } from "./people.ts";

/** Teams that a person may create, also those that they have left. */
const foundedMax = 10;
const nameLengthMax = 60;

/**
 * Creates a team and makes its founder an admin: an account with an empty wallet. It has no free quota until an
 * administrator sets one, because a person could otherwise multiply their quota.
 *
 * @param founder The id of the person's own account.
 * @throws {GatewayError} `invalid_request` for the name, `conflict` when the person has created too many, or
 * cannot sign in.
 */
export async function createTeam(
  db: Transaction<Database>,
  { founder, name: text }: { founder: string; name: string },
  now: number,
): Promise<{ accountId: string; name: string }> {
  const name = parseTeamName(text);
  await lockAccount(db, founder);
  const { count } = await db
    .selectFrom("accounts")
    .select((select) => select.fn.countAll().as("count"))
    .where("founded_by", "=", founder)
    .executeTakeFirstOrThrow();
  if (Number(count) >= foundedMax) {
    throw new GatewayError(
      "conflict",
      `You have created ${foundedMax} teams, the limit; ask an administrator for more`,
    );
  }
  const user = await db.selectFrom("users").select("id").where("account_id", "=", founder).executeTakeFirst();
  if (user === undefined) {
    throw new GatewayError("conflict", "Nobody can sign in to this account yet; invite its person first");
  }
  const id = newAccountId();
  const row = accountRowOf({ id, email: toTeamAddress(name, id), name }, now);
  const team = { ...row, free_tokens_per_day: 0, founded_by: founder };
  await db.insertInto("accounts").values(team).execute();
  const membership = { account_id: row.id, user_id: user.id, role: "admin", joined_at: now } as const;
  await db.insertInto("memberships").values(membership).execute();
  return { accountId: row.id, name };
}

/**
 * Renames a team. The account is locked already.
 *
 * @throws {GatewayError} `invalid_request` for the name, `conflict` for a person's own account.
 */
export async function renameTeam(
  db: Transaction<Database>,
  { accountId, name: text }: { accountId: string; name: string },
): Promise<{ name: string; before: string | null }> {
  const name = parseTeamName(text);
  if ((await listPeople({ db }, accountId)).some(({ isHolder }) => isHolder)) {
    throw new GatewayError("conflict", "This is a person's own account, which has the name of that person");
  }
  const account = db.selectFrom("accounts").select(["name", "email"]).where("id", "=", accountId);
  const before = await account.executeTakeFirstOrThrow();
  const email = toRealEmail(before.email) ?? toTeamAddress(name, accountId);
  await db.updateTable("accounts").set({ name, email }).where("id", "=", accountId).execute();
  return { name, before: before.name };
}

function parseTeamName(text: string): string {
  checkName(text, "name", nameLengthMax);
  return text.replaceAll(/[\s\p{C}]+/gu, " ").trim();
}
