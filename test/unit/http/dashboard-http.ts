import { createAccounts, type Payments } from "../../../src/accounts/index.ts";
import { hashPassword } from "../../../src/accounts/password.ts";
import { writePassword } from "../../../src/accounts/users.ts";
import { openPayments, openSignIn } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/index.ts";
import type { ProviderPlugin } from "../../../src/contract/index.ts";
import type { Role, Store } from "../../../src/db/index.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";
import { sessionCookieOf } from "../../support/session-cookie.ts";
import { helloPlugin, httpOf } from "./support.ts";

export const password = "correct horse battery";
export const origin = "http://gateway.example";

/** The HTTP side over a real store and fakes of all else, where people sign in. */
export async function dashboardHttp(
  env: Record<string, string> = {},
  plugins: readonly ProviderPlugin[] = [helloPlugin],
  payments?: Payments,
) {
  const bench = httpOf();
  const { now } = bench.clock;
  const store = await temporaryStore(undefined, now);
  const config = readConfig(env);
  const { log } = bench;
  const http = httpOf(plugins, {
    ...(await openSignIn({ config, store, log }, now)),
    ...openPayments({ config, log }, payments, now),
    ...{ config, store, log, now },
  });
  // One clock for points in time and for durations.
  Object.assign(http.kernel, { now });
  /** As the gateway has them, but with the true check of keys. */
  const accounts = createAccounts({ store, defaults: config, now });
  const send = (path: string, init: RequestInit = {}) => http.app.handle(new Request(new URL(path, origin), init));
  /** Makes an account with a person who has {@link password}, and returns a browser in which that person is signed in. */
  const enter = async (email: string, role: Role = "member", temporary = false) => {
    const account = await accounts.create({ email });
    hash ??= hashPassword(password);
    const write = { accountId: account.id, hash: await hash, temporary, role };
    await store.db.transaction().execute((db) => writePassword(db, write, now()));
    const cookie = await beginSession(store, account.id, now());
    const headers = { cookie, origin, "content-type": "application/json" };
    return {
      account,
      cookie,
      get: (path: string) => send(path, { headers: { cookie } }),
      post: (path: string, body: unknown = {}) => send(path, { method: "POST", headers, body: JSON.stringify(body) }),
      patch: (path: string, body: unknown) => send(path, { method: "PATCH", headers, body: JSON.stringify(body) }),
      remove: (path: string) => send(path, { method: "DELETE", headers: { cookie, origin } }),
    };
  };
  return { ...http, log: bench.log, clock: bench.clock, store, accounts, send, enter };
}

/** Of the one password; each hash costs a core for a while. */
let hash: Promise<string> | undefined;

/** What a sign-in leaves behind, without the cost of one. */
async function beginSession(store: Store, accountId: string, now: number): Promise<string> {
  const secret = await store.setting("session_secret", () => "");
  const token = crypto.randomUUID();
  const at = new Date(now).toISOString();
  const { id: user_id } = await store.db
    .selectFrom("users")
    .select("id")
    .where("account_id", "=", accountId)
    .executeTakeFirstOrThrow();
  // better-auth goes by the true clock.
  const times = {
    expires_at: new Date(Math.max(now, Date.now()) + 604_800_000).toISOString(),
    created_at: at,
    updated_at: at,
  };
  await store.db
    .insertInto("sessions")
    .values({ id: crypto.randomUUID(), token, user_id, ip_address: null, user_agent: null, ...times })
    .execute();
  return sessionCookieOf(token, secret);
}

export function cookieOf(response: Response): string {
  return (
    response.headers
      .getSetCookie()
      .find((line) => line.startsWith("session="))
      ?.split(";")[0] ?? ""
  );
}

/** The ground with two members signed in, who should know nothing of each other. */
export async function twoMembers() {
  const ground = await dashboardHttp();
  return { ...ground, ada: await ground.enter("ada@example.org"), ben: await ground.enter("ben@example.org") };
}

export type Members = Awaited<ReturnType<typeof twoMembers>>;

export async function withAdmin() {
  const ground = await twoMembers();
  return { ...ground, admin: await ground.enter("admin@example.org", "admin") };
}
