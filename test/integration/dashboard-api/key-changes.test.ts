import { expect, test } from "bun:test";
import { expectError } from "../../support/expect-error.ts";
import { dashboardHttp } from "../../unit/http/dashboard-http.ts";

test("a member may make sixty key changes a minute and has as many keys as are configured", async () => {
  const { enter, clock } = await dashboardHttp({ MAX_KEYS_PER_ACCOUNT: "2" });
  const [ada, ben] = [await enter("ada@example.org"), await enter("ben@example.org")];
  for (const name of ["a", "b"]) expect((await ada.post("/dashboard/api/keys", { name })).status).toBe(200);
  const full = { status: 409, code: "conflict", says: "The account has 2 API keys, its limit; revoke one" };
  for (let count = 2; count < 60; count++)
    await expectError(await ada.post("/dashboard/api/keys", { name: "c" }), full);
  const refused = await ada.patch("/dashboard/api/keys/any", { name: "d" });
  expect(refused.headers.get("retry-after")).toBe("60");
  const says = "Too many key changes, at most 60 a minute; try again in 60 s";
  await expectError(refused, { status: 429, code: "rate_limit_exceeded", says });
  expect((await ben.post("/dashboard/api/keys", { name: "of another account" })).status).toBe(200);
  clock.pass(60_000);
  await expectError(await ada.remove("/dashboard/api/keys/any"), { status: 404 });
});
