import { expect, test } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { hashPassword, verifyPassword } from "../../../src/identity/password.ts";
import { setPassword } from "../../../src/identity/set-password.ts";
import { createSignIn } from "../../../src/identity/sign-in.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { createUser } from "../../../src/tenants/users.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";

const defaults = { requestsPerMinute: 1, tokensPerMinute: 1, freeTokensPerDay: 1 };

test("a wrong password costs one hash and gets the same answer, whether or not the e-mail has an account or password", async () => {
  const store = await temporaryStore();
  const accounts = createAccounts({ store, defaults });
  const known = await accounts.create({ email: "known@example.org" });
  const fields = { accountId: known.id, password: "correct horse battery", temporary: false, role: "member" } as const;
  await setPassword(store, fields, Date.now());
  const bare = await accounts.create({ email: "bare@example.org" });
  const person = { accountId: bare.id, role: "member", emailVerified: true } as const;
  await store.db.transaction().execute((db) => createUser(db, person, Date.now()));

  let hashes = 0;
  const passwords = {
    hash(password: string) {
      hashes += 1;
      return hashPassword(password);
    },
    verify(given: { hash: string; password: string }) {
      hashes += 1;
      return verifyPassword(given);
    },
  };
  const secret = "0123456789abcdef0123456789abcdef";
  const report = () => undefined;
  const signIn = createSignIn({ store, secret, signUp: "closed", now: Date.now, report, passwords });
  const attempt = async (email: string) => {
    const body = JSON.stringify({ email, password: "not this one at all" });
    const before = hashes;
    const request = new Request("http://gateway.example/api/auth/sign-in/email", { method: "POST", body });
    const error = await signIn.handle(request, "peer").catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(GatewayError);
    const { status } = error as GatewayError;
    return { status, body: (error as GatewayError).toBody(), hashes: hashes - before };
  };
  const outcomes = [];
  for (const name of ["known", "bare", "nobody"]) outcomes.push(await attempt(`${name}@example.org`));
  expect(outcomes[0]).toMatchObject({ status: 401, hashes: 1 });
  expect(outcomes[1]).toEqual(outcomes[0] as (typeof outcomes)[number]);
  expect(outcomes[2]).toEqual(outcomes[0] as (typeof outcomes)[number]);
});
