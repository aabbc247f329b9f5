import { expect } from "bun:test";
import { sql } from "kysely";
import { commandLine } from "../../../src/audit/index.ts";
import { changeProject } from "../../../src/tenants/index.ts";
import type { ProjectChanges } from "../../../src/tenants/projects.ts";
import { lockManaged, lockOwners } from "../../../src/tenants/roles.ts";
import { node, postgresTest, until } from "../db/postgres/fixture.ts";
import { addAccount, newYear } from "../ledger/fixture.ts";

const changesOfOwners: readonly ProjectChanges[] = [{ role: "viewer" }, { isDisabled: true }];

for (const changes of changesOfOwners) {
  postgresTest(
    `a project's ${Object.keys(changes)} and a user's role are changed at once without a deadlock`,
    async () => {
      const { store, url } = await node();
      const other = (await node(url)).store;
      await addAccount(store, "acc_1", 0);
      let changing: Promise<unknown> | undefined;
      // As a change of a user's role does: the owners first, and then the account.
      await store.db.transaction().execute(async (db) => {
        await lockOwners(db);
        changing = Promise.allSettled([
          changeProject(store, { by: commandLine, accountId: "acc_1", changes }, () => newYear),
        ]);
        await until("the other change waits", async () => {
          const { rows } = await sql<{ waiting: number }>`select count(*) as waiting from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock'`.execute(other.db);
          return Number(rows[0]?.waiting) > 0;
        });
        await lockManaged(db, commandLine, "acc_1");
      });
      expect(await changing).toEqual([{ status: "fulfilled", value: undefined }]);
    },
  );
}
