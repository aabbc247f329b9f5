import { expect, spyOn, test } from "bun:test";
import { sql } from "kysely";
import { expectError } from "../../support/expect-error.ts";
import { dashboardHttp, password } from "../../unit/http/dashboard-http.ts";

test("a lost store is 503 for the dashboard and logged once in ten seconds", async () => {
  const { enter, store, log, clock } = await dashboardHttp();
  const ada = await enter("ada@example.org");
  await store.close();
  const ask = async () => {
    const answers = [
      await ada.get("/dashboard/api/me"),
      await ada.get("/api/auth/get-session"),
      await ada.post("/api/auth/sign-in/email", { email: "ada@example.org", password }),
      await ada.post("/dashboard/api/invitations/accept", { token: "any", password }),
    ];
    for (const answer of answers) {
      expect(answer.headers.get("retry-after")).toBe("1");
      await expectError(answer, { status: 503, code: "unavailable" });
    }
  };
  const said = () => log.lines.map(({ event }) => event);
  await ask();
  clock.pass(9999);
  await ask();
  expect(said()).toEqual(["store_not_read"]);
  clock.pass(1);
  await ask();
  expect(said()).toEqual(["store_not_read", "store_not_read"]);
});

test("a failure during sign-in returns our error body and is only detailed in the log", async () => {
  const { enter, store, log } = await dashboardHttp();
  const ada = await enter("ada@example.org");
  await sql`alter table users rename to lost`.execute(store.db);
  using printed = spyOn(console, "error");
  const answer = await ada.post("/api/auth/sign-in/email", { email: "ada@example.org", password });
  await expectError(answer, { status: 500, code: "internal_error" });
  expect(log.lines.map(({ event }) => event)).toEqual(["unexpected"]);
  expect(printed.mock.calls).toEqual([]);
});
