import { afterEach, describe, expect, test } from "bun:test";
import type { KyselyPlugin } from "kysely";
import { readConfig } from "../../../src/config/index.ts";
import { openStore, type Store } from "../../../src/db/index.ts";
import { ProviderSettings } from "../../../src/providers/provider-settings.ts";

let store: Store;
afterEach(() => store.close());

const row = {
  name: "acme",
  enabled: 0,
  priority: null,
  weight: null,
  manifest: "{}",
  earlier_manifests: null,
  removed_at: null,
};
const key = {
  id: "k1",
  provider: "acme",
  secret: Buffer.from("-"),
  secrets_id: "-",
  last4: "",
  set_by: "-",
  set_at: 1,
};

/** Settings whose `nth` answer of the database comes no sooner than `hold` is done. */
async function openSettings(nth: number, hold: () => Promise<unknown>) {
  store = await openStore({ file: ":memory:" });
  let answers = 0;
  const late: KyselyPlugin = {
    transformQuery: ({ node }) => node,
    async transformResult({ result }) {
      answers++;
      if (answers === nth) await hold();
      return result;
    },
  };
  const slow = { ...store, db: store.db.withPlugin(late) };
  return new ProviderSettings(readConfig({}), slow);
}

describe("the settings of providers", () => {
  test("keep what a later read found when the answer of an earlier one is late", async () => {
    const { promise, resolve } = Promise.withResolvers<void>();
    const held = Promise.withResolvers<void>();
    const settings = await openSettings(1, () => {
      held.resolve();
      return promise;
    });
    const earlier = settings.read();
    await held.promise;
    await store.db.insertInto("providers").values(row).execute();
    const later = settings.read();
    // Longer than a read takes that nothing holds.
    await Bun.sleep(20);
    resolve();
    await Promise.all([earlier, later]);
    expect(settings.isEnabled("acme")).toBe(false);
  });

  test("never show a key beside the manifest before it", async () => {
    const settings = await openSettings(1, async () => {
      await store.db.insertInto("providers").values(row).execute();
      await store.db.insertInto("provider_keys").values(key).execute();
    });
    await settings.read();
    expect(settings.rows.get("acme")?.manifest).toBe("{}");
    expect(settings.keysOf("acme")).toHaveLength(1);
  });
});
