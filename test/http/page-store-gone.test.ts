import { expect, test } from "bun:test";
import { expectError } from "../support/expect-error.ts";
import { deskGround, password } from "./desk-ground.ts";

test("whoever is at the page hears that the store is gone, and the log hears it once in ten seconds", async () => {
  const { enter, store, log, clock } = await deskGround();
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
