import { expect, test } from "bun:test";
import { createAccounts } from "../../../src/accounts/index.ts";
import { invite } from "../../../src/accounts/invitations.ts";
import { pruneSignIn } from "../../../src/accounts/sessions.ts";
import { setPassword } from "../../../src/accounts/users.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";

const defaults = { requestsPerMinute: 1, tokensPerMinute: 1, freeTokensPerDay: 1 };
const now = Date.parse("2026-11-21T10:00:00.000Z");
const rowsOver = 250;

test("pruning deletes every expired session, verification and invitation and keeps the others", async () => {
  const store = await temporaryStore();
  const { id: accountId } = await createAccounts({ store, defaults }).create({ email: "ada@example.org" });
  await setPassword(store, { accountId, password: "correct horse battery", temporary: false, role: "member" }, now);
  const { id: user_id } = await store.db.selectFrom("users").select("id").executeTakeFirstOrThrow();
  const timeOf = (number: number) => new Date(number < rowsOver ? now - number : now + 1).toISOString();
  const common = (number: number) => ({
    id: `${number}`,
    expires_at: timeOf(number),
    created_at: timeOf(0),
    updated_at: timeOf(0),
  });
  const numbers = Array.from({ length: rowsOver + 3 }, (_, number) => number);
  const session = { user_id, ip_address: null, user_agent: null };
  await store.db
    .insertInto("sessions")
    .values(numbers.map((number) => ({ ...common(number), ...session, token: `t${number}` })))
    .execute();
  await store.db
    .insertInto("verifications")
    .values(numbers.map((number) => ({ ...common(number), identifier: "i", value: "v" })))
    .execute();
  const old = await invite(store, accountId, now - 172_800_000);
  const kept = await invite(store, accountId, now - 172_799_999);
  expect(old.expiresAt).toBe(now);
  expect(kept.expiresAt).toBe(now + 1);
  expect(await pruneSignIn(store, now)).toBe(rowsOver * 2 + 1);
  expect(await store.db.selectFrom("sessions").select("id").execute()).toHaveLength(3);
  expect(await store.db.selectFrom("verifications").select("id").execute()).toHaveLength(3);
  expect(await store.db.selectFrom("invitations").select("expires_at").execute()).toMatchObject([
    { expires_at: now + 1 },
  ]);
  expect(await pruneSignIn(store, now)).toBe(0);
});
