import { expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { openStore } from "../../../src/db/index.ts";
import { createAccounts } from "../../../src/keys/index.ts";
import {
  changeDirectoryGroup,
  changeDirectoryUser,
  createDirectoryGroup,
  createDirectoryUser,
  createGroupRole,
  createProject,
  listPeople,
} from "../../../src/tenants/index.ts";
import { migratedPostgres } from "../../support/migrated-postgres.ts";
import { whyNoPostgres } from "../../support/postgres.ts";
import { slowness } from "../../support/slowness.ts";
import { until } from "../../support/until.ts";

if (whyNoPostgres !== undefined) console.warn(`SCIM on several nodes is skipped: ${whyNoPostgres}`);
const defaults = { requestsPerMinute: 600, tokensPerMinute: 1_000_000, freeTokensPerDay: 250_000 };
const by = commandLine;

/** A node as a gateway runs it: it looks for changes twice a second. */
async function startNode(url: string) {
  const store = await openStore({ url, timeoutMs: 10_000 });
  const accounts = createAccounts({ store, defaults });
  await accounts.prepare();
  const timer = setInterval(() => accounts.sync(), 500);
  const stop = async () => {
    clearInterval(timer);
    await store.close();
  };
  return { store, accounts, stop };
}

test.skipIf(whyNoPostgres !== undefined)(
  "of two nodes over PostgreSQL both know within a second that somebody left, and groups change one after the other",
  async () => {
    const url = await migratedPostgres();
    const [here, there] = [await startNode(url), await startNode(url)];
    const { store } = here;
    const now = () => Date.now();
    const team = await createProject(store, { by, name: "Search", changes: {} }, now);
    const ada = await createDirectoryUser(store, { by, email: "ada@example.org" }, now());
    const { key } = await here.accounts.createKey({ accountId: team, name: "script", by: ada });
    const isGood = async (node: typeof here) => {
      try {
        await node.accounts.authenticate(key);
        return true;
      } catch {
        return false;
      }
    };
    expect([await isGood(here), await isGood(there)]).toEqual([true, true]);
    await changeDirectoryUser(store, { by, id: ada, fields: { isActive: false } }, now());
    const leftMs = performance.now();
    expect(await isGood(here)).toBe(false);
    await until(async () => !(await isGood(there)));
    expect(performance.now() - leftMs).toBeLessThan(1000 * slowness());

    const people = await Promise.all(
      Array.from({ length: 6 }, (_, index) =>
        createDirectoryUser(index % 2 === 0 ? store : there.store, { by, email: `p${index}@example.org` }, now()),
      ),
    );
    const fields = { name: "developers", externalId: null, memberIds: new Set<string>() };
    const group = await createDirectoryGroup(store, { by, fields }, now());
    await createGroupRole(there.store, { by, accountId: team, group_name: "Developers", role: "member" }, now());
    // Each node adds its own, at once: none may be lost.
    await Promise.all(
      people.map((id, index) =>
        changeDirectoryGroup(
          index % 2 === 0 ? store : there.store,
          { by, id: group, change: (one) => ({ ...one, memberIds: new Set([...one.memberIds, id]) }) },
          now(),
        ),
      ),
    );
    expect((await listPeople(store, team)).map(({ id }) => id).sort()).toEqual([...people].sort());
    await Promise.all([here.stop(), there.stop()]);
  },
);
