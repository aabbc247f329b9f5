import type { Migration } from "./migration.ts";

/** When a key was last used, the vouchers that an account redeemed, and what of sign-in is over. */
export const desk: Migration = {
  version: 4,
  async up(db) {
    await db.schema.alterTable("keys").addColumn("last_used_at", "bigint").execute();
    await db.schema.createIndex("vouchers_of_account").on("vouchers").columns(["redeemed_by", "redeemed_at"]).execute();
    for (const table of ["sessions", "verifications", "invitations"]) {
      await db.schema.createIndex(`${table}_by_expiry`).on(table).column("expires_at").execute();
    }
  },
};
