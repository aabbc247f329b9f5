import { createAccounts } from "../../src/accounts/index.ts";
import { setPassword } from "../../src/accounts/people.ts";
import { readConfig } from "../../src/config.ts";
import type { ProviderPlugin } from "../../src/contract/index.ts";
import type { Shelf } from "../../src/loader/index.ts";
import { openDesk } from "../../src/open-desk.ts";
import type { Role } from "../../src/store/index.ts";
import { temporaryStore } from "../store/temporary-store.ts";
import { helloPlugin, httpOf } from "./support.ts";

export const password = "correct horse battery";
export const origin = "http://gateway.example";

/** The HTTP side over a real store and fakes of all else, where people sign in. */
export async function deskGround(env: Record<string, string> = {}, plugins: readonly ProviderPlugin[] = [helloPlugin]) {
  const bench = httpOf();
  const { now } = bench.clock;
  const store = await temporaryStore(undefined, now);
  const config = readConfig(env);
  const accounts = createAccounts({ store, defaults: config, now });
  const shelf: Pick<Shelf, "states" | "plugins"> = { states: [], plugins };
  const desk = await openDesk({ config, store, accounts, log: bench.log, now, shelf: () => shelf });
  const http = httpOf(plugins, { desk, now });
  const send = (path: string, init: RequestInit = {}) => http.app.handle(new Request(new URL(path, origin), init));
  /** Makes an account with a person, signs in and returns a browser of that person. */
  const enter = async (email: string, role: Role = "member", temporary = false) => {
    const account = await accounts.create({ email });
    await setPassword(store, { accountId: account.id, password, temporary, role }, now());
    const cookie = cookieOf(await postTo(send, "/api/auth/sign-in/email", { email, password }));
    const headers = { cookie, origin, "content-type": "application/json" };
    return {
      account,
      cookie,
      get: (path: string) => send(path, { headers: { cookie } }),
      post: (path: string, body: unknown = {}) => send(path, { method: "POST", headers, body: JSON.stringify(body) }),
      remove: (path: string) => send(path, { method: "DELETE", headers: { cookie, origin } }),
    };
  };
  return { ...http, clock: bench.clock, store, accounts, desk, send, enter };
}

function postTo(send: (path: string, init: RequestInit) => Promise<Response>, path: string, body: unknown) {
  const headers = { origin, "content-type": "application/json" };
  return send(path, { method: "POST", headers, body: JSON.stringify(body) });
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
  const ground = await deskGround();
  return { ...ground, ada: await ground.enter("ada@example.org"), ben: await ground.enter("ben@example.org") };
}

export type Members = Awaited<ReturnType<typeof twoMembers>>;

export async function withAdmin() {
  const ground = await twoMembers();
  return { ...ground, admin: await ground.enter("admin@example.org", "admin") };
}
