import { expect } from "bun:test";
import { GatewayError } from "../../../src/contract/index.ts";
import { writePassword } from "../../../src/identity/set-password.ts";
import { createSignIn, type SignInOptions } from "../../../src/identity/sign-in.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { cheapPasswords as passwords } from "../../support/session-cookie.ts";
import { temporaryStore } from "../db/temporary-store.ts";

const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
const secret = "0123456789abcdef0123456789abcdef";
export const password = "correct horse battery";
export const dayMs = 86_400_000;

/** Sign-in over a store of its own. */
export async function fixture(changes: Partial<SignInOptions> = {}) {
  const clock = { time: Date.now() };
  const now = () => clock.time;
  const store = await temporaryStore(undefined, now);
  const failures: unknown[] = [];
  const report = (error: unknown) => failures.push(error);
  const options = {
    store,
    secret,
    signUp: "closed",
    now,
    report,
    passwords,
    attemptsPerMinuteMax: 50,
    ...changes,
  } as const;
  const signIn = createSignIn(options);
  const accounts = createAccounts({ store, defaults, now });
  const askBy =
    (by: typeof signIn) =>
    (network: string, action: string, body?: unknown, cookie = "") => {
      const init = { headers: { cookie }, ...(body !== undefined && { method: "POST", body: JSON.stringify(body) }) };
      return by.handle(new Request(`http://gateway.example/api/auth/${action}`, init), network);
    };
  const askFrom = askBy(signIn);
  /** As another process with the same database does. */
  const askOther = askBy(createSignIn(options));
  const ask = (action: string, body?: unknown, cookie = "") => askFrom("peer", action, body, cookie);
  return { store, signIn, accounts, ask, askFrom, askOther, clock, now, failures };
}

/** As {@link fixture}, with an account whose holder has the {@link password}. */
export async function member(email = "ada@example.org", changes: Partial<SignInOptions> = {}) {
  const parts = await fixture(changes);
  const account = await parts.accounts.create({ email, name: "Ada" });
  const hash = await passwords.hash(password);
  const fields = { accountId: account.id, hash, temporary: false, role: "member" } as const;
  await parts.store.change((db) => writePassword(db, fields, parts.now()));
  return { ...parts, account };
}

export type Member = Awaited<ReturnType<typeof member>>;

export function cookieOf(response: Response): string {
  const [cookie] = response.headers.getSetCookie().filter((line) => line.startsWith("session="));
  return cookie?.split(";")[0] ?? "";
}

export async function refusalOf(promise: Promise<unknown>): Promise<GatewayError> {
  const error = await promise.catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(GatewayError);
  return error as GatewayError;
}
