import { expect, test } from "bun:test";
import { cacheSessions } from "../../../src/identity/session-cache.ts";
import { expectError } from "../../support/expect-error.ts";
import { twoMembers } from "../http/dashboard-http.ts";

test("a session is read once for many requests, anew when it has ended, and never kept when there was none", async () => {
  let [now, expiresAt] = [0, 100];
  const asked: string[] = [];
  const read = cacheSessions(
    async (cookies) => {
      asked.push(cookies);
      return cookies.startsWith("good") ? { id: "s", userId: "u", expiresAt } : undefined;
    },
    () => now,
  );
  const long = `good${"x".repeat(3000)}`;
  for (const cookies of ["good", "good", "bad", "bad", long, long]) await read(cookies);
  expect(asked).toEqual(["good", "bad", "bad", long, long]);
  now = 100;
  expiresAt = 200;
  expect(await read("good")).toMatchObject({ expiresAt: 200 });
  expect(asked).toHaveLength(6);
});

test("a session that was ended, and an account that was disabled, are refused at the next request", async () => {
  const { ada, ben, store } = await twoMembers();
  const me = "/dashboard/api/me";
  for (const member of [ada, ben]) expect((await member.get(me)).status).toBe(200);
  await store.db.deleteFrom("sessions").where("user_id", "=", userOf(ada)).execute();
  await expectError(await ada.get(me), { status: 401 });
  await store.db.updateTable("accounts").set({ disabled_at: 1 }).where("id", "=", ben.account.id).execute();
  await expectError(await ben.get(me), { status: 401 });

  function userOf({ account }: typeof ada) {
    return store.db.selectFrom("users").select("id").where("account_id", "=", account.id);
  }
});
