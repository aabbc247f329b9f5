import { afterAll, expect, test } from "bun:test";
import { copyFileSync, mkdtempSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "../../../src/db/index.ts";
import { verifyLedger } from "../../../src/ledger/index.ts";
import { fillWallet, startGateway } from "../../support/gateway.ts";
import { openCliStore } from "../../support/ledger-view.ts";
import { until } from "../../support/until.ts";
import { startClients } from "../kill/clients.ts";
import { startMeteredProvider } from "../kill/metered-provider.ts";

const backups = 3;
const folder = mkdtempSync(join(tmpdir(), "modelgate-test-"));
const provider = startMeteredProvider(11);
afterAll(async () => {
  await provider.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("a backup taken under load holds every call answered before it, and what is restored is true and serves", async () => {
  const env = { OPENAI_API_KEY: "sk-upstream", OPENAI_BASE_URL: provider.baseUrl };
  const gateway = await startGateway({ env });
  await fillWallet(gateway, "1000000.00");
  const clients = startClients(8, gateway.key, () => gateway.origin);
  const taken: { file: string; before: string[] }[] = [];
  for (let number = 0; number < backups; number++) {
    const enough = clients.delivered.size + 50;
    await until(() => clients.delivered.size >= enough);
    const before = [...clients.delivered.values()];
    const file = join(folder, `backup-${number}.db`);
    expect(await gateway.cli("backup", file)).toEqual({ file, bytes: statSync(file).size });
    taken.push({ file, before });
  }
  await clients.stop();
  await gateway.stop();
  // Nobody was refused or kept waiting in vain meanwhile.
  expect([...clients.statuses.keys()]).toEqual([200]);

  for (const { file, before } of taken) {
    const home = mkdtempSync(join(folder, "home-"));
    copyFileSync(file, join(home, "modelgate.db"));
    const ledger = openCliStore(home);
    expect(before.filter((id) => ledger.call(id)?.state !== "settled")).toEqual([]);
    expect(ledger.counts().calls).toBeGreaterThanOrEqual(before.length);
    ledger.close();
    const store = await openStore({ file: join(home, "modelgate.db") });
    expect((await verifyLedger(store)).differences).toEqual([]);
    await store.close();
    const restored = await startGateway({ home, env });
    expect(await restored.cli("ledger", "verify")).toMatchObject({ ok: true, differences: [], counts: { open: 0 } });
    expect((await restored.ask("/key")).status).toBe(200);
    await restored.stop();
  }
});
