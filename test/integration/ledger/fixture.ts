import type { CallState, Store } from "../../../src/db/index.ts";
import { creditWallet, ProcessLedger } from "../../../src/ledger/index.ts";
import { addPayers } from "../../support/payers.ts";
import { temporaryStore } from "../db/temporary-store.ts";
import { keysOf, newYear } from "./admissions.ts";
import type { MakeLedger } from "./engines.ts";

export {
  type AccountBudget,
  type AdmissionFields,
  budgetOfKey,
  createAdmission,
  createSettlement,
  newYear,
  readOwnBudgets,
} from "./admissions.ts";

export const dayMs = 86_400_000;

/** A clock that a test moves. */
export interface Clock {
  time: number;
}

/** A store with a ledger over it, both on the same clock. */
export interface BillingFixture {
  store: Store;
  ledger: ProcessLedger;
  clock: Clock;
}

export async function ledgerFixture(file?: string, make?: MakeLedger): Promise<BillingFixture> {
  const clock: Clock = { time: newYear };
  const store = await temporaryStore(file, () => clock.time);
  await addPayers(store, { acc_1: keysOf("acc_1"), acc_2: keysOf("acc_2") });
  const options = { store, now: () => clock.time };
  return { store, clock, ledger: make === undefined ? new ProcessLedger(options) : await make(options) };
}

/** An account with keys and a wallet of this many nanodollars. */
export async function addAccount(store: Store, id: string, nanodollars = 0): Promise<void> {
  await addPayers(store, { [id]: keysOf(id) });
  if (nanodollars !== 0) await creditWallet(store, { accountId: id, nanodollars, note: "start" });
}

/** The state of each call, running or ended, by id. */
export async function statesOf({ db }: Pick<Store, "db">): Promise<Record<string, CallState>> {
  const open = await db.selectFrom("open_calls").select("id").execute();
  const ended = await db.selectFrom("calls").select(["id", "state"]).execute();
  const all = [...open.map(({ id }) => ({ id, state: "open" as const })), ...ended];
  return Object.fromEntries(all.sort((a, b) => (a.id < b.id ? -1 : 1)).map(({ id, state }) => [id, state]));
}
