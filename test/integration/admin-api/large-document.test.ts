import { expect, test } from "bun:test";
import { commandLine } from "../../../src/audit/index.ts";
import { getDatabaseFile } from "../../../src/config/index.ts";
import { openStore, toPayerNumber } from "../../../src/db/index.ts";
import { createAdminKey } from "../../../src/keys/index.ts";
import { emptyColumns } from "../../../src/lib/fields.ts";
import { budgetFields } from "../../../src/tenants/index.ts";
import { stallProbed, stallSince } from "../../e2e/hostile/stall-probe.ts";
import { freePort } from "../../support/free-port.ts";
import { startGateway } from "../../support/gateway.ts";
import { slowness } from "../../support/slowness.ts";

const count = 9000;
const accountIds = Array.from({ length: 10 }, (_, index) => `acc_large_${index}`);
const owners = accountIds.map((id, index) => ({ id, email: `large-${index}@example.com` }));

test("a document of 9000 budgets that are there is compared in no long turn of the event loop", async () => {
  const stallPort = await freePort();
  const gateway = await startGateway({ isEngineOwn: true, env: { ...stallProbed(stallPort), OVERLOAD_LAG_MS: "0" } });
  try {
    const store = await openStore({ file: getDatabaseFile(gateway) });
    const fields = { name: "large", scopes: ["accounts:write"] };
    const admin = await createAdminKey(store, commandLine, fields, Date.now());
    const none = { name: null, free_tokens_per_day: null, disabled_at: null };
    const unlimited = { requests_per_minute: null, tokens_per_minute: null, concurrent_calls: null };
    const accounts = owners.map((owner) => ({ ...owner, ...none, ...unlimited, created_at: 1 }));
    await store.db.insertInto("accounts").values(accounts).execute();
    const rows = Array.from({ length: count }, (_, index) => {
      const id = `bud_large_${index}`;
      return {
        ...emptyColumns(budgetFields),
        ...{ id, no: toPayerNumber(id), account_id: accountIds[index % 10] ?? "", subject: "tag" as const },
        ...{ name: `t${index}`, budget_nanodollars: 5e9, budget_period: "day" as const },
        ...{ created_at: 1, counted_from: 0, counted_to: null },
      };
    });
    for (let from = 0; from < count; from += 500) {
      await store.db
        .insertInto("budgets")
        .values(rows.slice(from, from + 500))
        .execute();
    }
    await store.close();

    const budgets = rows.map(({ name }, index) => {
      return { account: owners[index % 10]?.email, subject: "tag", name, budget_usd: "5.00", budget_period: "day" };
    });
    await stallSince(stallPort);
    const response = await fetch(`${gateway.baseUrl}/organization/config?dry_run=true`, {
      method: "PUT",
      headers: { authorization: `Bearer ${admin.key}`, "content-type": "application/json" },
      body: JSON.stringify({ budgets }),
    });
    expect(await response.json()).toMatchObject({ changes: [] });
    expect((await stallSince(stallPort)).cpuMsMax).toBeLessThan(100 * slowness());
  } finally {
    await gateway.stop();
  }
});
