import { tmpdir } from "node:os";
import { join } from "node:path";
import { openSignIn } from "../../../src/app.ts";
import { readConfig } from "../../../src/config/index.ts";
import type { Role } from "../../../src/db/index.ts";
import type { HttpDeps } from "../../../src/http/deps.ts";
import type { HttpModule } from "../../../src/http/module.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import { modules, openModules } from "../../../src/modules/index.ts";
import type { ModuleParts } from "../../../src/modules/module.ts";
import type { ProviderPlugin } from "../../../src/provider/index.ts";
import { temporaryStore } from "../../integration/db/temporary-store.ts";
import { cheapPasswords, enterAs } from "../../support/session-cookie.ts";
import { createBench } from "../kernel/support.ts";
import { helloPlugin, httpOf } from "./support.ts";

export { password } from "../../support/session-cookie.ts";
export const origin = "http://gateway.example";

/** The HTTP side over a real store and fakes of all else, where people sign in. */
export async function dashboardHttp(
  env: Record<string, string> = {},
  plugins: readonly ProviderPlugin[] = [helloPlugin],
  open: (parts: ModuleParts) => Promise<HttpModule[]> = (parts) => openModules(modules, parts),
  parts: Partial<HttpDeps> = {},
) {
  const { log, clock } = createBench([]);
  const { now } = clock;
  const store = await temporaryStore(undefined, now);
  const config = readConfig({ MODELGATE_HOME: join(tmpdir(), "modelgate-dashboard-test"), ...env });
  const ofModules = await open({
    config,
    store,
    log,
    now,
    version: "test",
    nodeName: "gate-1",
    sendLog: () => undefined,
    contentSinks: () => [],
  });
  const http = httpOf(
    plugins,
    {
      ...(await openSignIn({ config, store, log, passwords: cheapPasswords }, now)),
      config,
      store,
      log,
      now,
      ...parts,
    },
    undefined,
    ofModules,
  );
  await http.deps.providers.load();
  // One clock for points in time and for durations.
  Object.assign(http.kernel, { now });
  /** As the gateway has them, but with the true check of keys. */
  const accounts = createAccounts({ store, defaults: config, now });
  const send = (path: string, init: RequestInit = {}) => http.app.handle(new Request(new URL(path, origin), init));
  /** Makes an account with a person who has {@link password}, and returns a browser in which that person is signed in. */
  const enter = async (email: string, role: Role = "member", temporary = false) => {
    const account = await accounts.create({ email });
    const cookie = await enterAs(store, { accountId: account.id, role, temporary }, now());
    const headers = { cookie, origin, "content-type": "application/json" };
    return {
      account,
      cookie,
      get: (path: string) => send(path, { headers: { cookie } }),
      post: (path: string, body: unknown = {}) => send(path, { method: "POST", headers, body: JSON.stringify(body) }),
      patch: (path: string, body: unknown) => send(path, { method: "PATCH", headers, body: JSON.stringify(body) }),
      put: (path: string, body: unknown) => send(path, { method: "PUT", headers, body: JSON.stringify(body) }),
      remove: (path: string) => send(path, { method: "DELETE", headers: { cookie, origin } }),
    };
  };
  return { ...http, log, clock, store, accounts, send, enter };
}

export function cookieOf(response: Response): string {
  return (
    response.headers
      .getSetCookie()
      .find((line) => line.startsWith("session="))
      ?.split(";")[0] ?? ""
  );
}

/** The fixture with two members signed in, who should know nothing of each other. */
export async function twoMembers() {
  const fixture = await dashboardHttp();
  return { ...fixture, ada: await fixture.enter("ada@example.org"), ben: await fixture.enter("ben@example.org") };
}

export type Members = Awaited<ReturnType<typeof twoMembers>>;

export async function withAdmin() {
  const fixture = await twoMembers();
  return { ...fixture, admin: await fixture.enter("admin@example.org", "admin") };
}
