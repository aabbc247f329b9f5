import type { Store } from "../db/index.ts";

/** Wallets below zero: how many, and by how much in all. */
export interface Overdrawn {
  accounts: number;
  nanodollars: number;
}

/** Looks at every wallet: for once a minute, not for each call. */
export async function readOverdrawn(store: Store): Promise<Overdrawn> {
  const { accounts, nanodollars } = await store.db
    .selectFrom("wallets")
    .select(({ fn }) => [fn.countAll().as("accounts"), fn.sum("balance_nanodollars").as("nanodollars")])
    .where("balance_nanodollars", "<", 0)
    .executeTakeFirstOrThrow();
  return { accounts: Number(accounts), nanodollars: nanodollars === null ? 0 : -Number(nanodollars) };
}
