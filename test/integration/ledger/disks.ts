import { sql } from "kysely";
import { type BillingFixture, ledgerFixture } from "./fixture.ts";

/** A ledger over a disk that a test can make take no writes. */
export interface Disk extends BillingFixture {
  readOnly(on: boolean): Promise<void>;
}

export async function readOnlyDisk(): Promise<Disk> {
  const fixture = await ledgerFixture();
  const readOnly = async (on: boolean) => {
    await sql`pragma query_only = ${sql.lit(on ? 1 : 0)}`.execute(fixture.store.db);
  };
  return { ...fixture, readOnly };
}
