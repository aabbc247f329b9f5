import type { Store } from "../../db/index.ts";
import type { VerifyLedger } from "../module.ts";
import { tryAcquireLease } from "./leases.ts";
import type { SharedState } from "./rules.ts";

const turnName = "ledger";
const checkName = "alert_ledger";
const dayMs = 86_400_000;
/** A gateway that has just been set up has better things to do. */
const firstMs = 3_600_000;
const lengthMax = 300;

/** Verifies the ledger once a day on one of the nodes, and stores the result. */
export async function checkLedger(store: Pick<Store, "db">, verify: VerifyLedger, now: number): Promise<void> {
  await store.db
    .insertInto("alert_turns")
    .values({ name: turnName, next_at: now + firstMs })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  if (!(await tryAcquireLease(store, turnName, dayMs, now))) return;
  const differences = await verify();
  const value = JSON.stringify({ differences: differences.length, first: differences[0]?.slice(0, lengthMax) });
  await store.db
    .insertInto("settings")
    .values({ name: checkName, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

/** Reads the result of the last verification. */
export async function readLedgerCheck({ db }: Pick<Store, "db">): Promise<SharedState["ledger"]> {
  const row = await db.selectFrom("settings").select("value").where("name", "=", checkName).executeTakeFirst();
  return row === undefined ? undefined : (JSON.parse(row.value) as SharedState["ledger"]);
}
