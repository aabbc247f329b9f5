import { expect, test } from "bun:test";
import { countAttempt } from "../../../src/identity/attempt-limit.ts";
import { pruneSignIn } from "../../../src/identity/sessions.ts";
import { setPassword } from "../../../src/identity/set-password.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { invite } from "../../../src/tenants/invitations.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";

const defaults = { requestsPerMinute: 1, tokensPerMinute: 1, freeTokensPerDay: 1 };
const now = Date.parse("2026-11-21T10:00:00.000Z");
const rowsOver = 250;

test("pruning deletes every expired session, verification, invitation and count of attempts and keeps the others", async () => {
  const store = await temporaryStore();
  const accounts = createAccounts({ store, defaults });
  const { id: accountId } = await accounts.create({ email: "ada@example.org" });
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
  const { id: other } = await accounts.create({ email: "bob@example.org" });
  const old = await invite(store, { accountId, by: "cli" }, now - 172_800_000);
  const kept = await invite(store, { accountId: other, by: "cli" }, now - 172_799_999);
  for (const age of [0, 1]) await countAttempt(store, `${age}`, 60_000, now - 60_000 + age);
  expect(old.expiresAt).toBe(now);
  expect(kept.expiresAt).toBe(now + 1);
  expect(await pruneSignIn(store, now)).toBe(rowsOver * 2 + 2);
  expect(await store.db.selectFrom("sessions").select("id").execute()).toHaveLength(3);
  expect(await store.db.selectFrom("verifications").select("id").execute()).toHaveLength(3);
  expect(await store.db.selectFrom("invitations").select("expires_at").execute()).toMatchObject([
    { expires_at: now + 1 },
  ]);
  expect(await store.db.selectFrom("sign_in_attempts").select("key").execute()).toEqual([{ key: "1" }]);
  expect(await pruneSignIn(store, now)).toBe(0);
});
