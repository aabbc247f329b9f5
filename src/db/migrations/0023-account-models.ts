import type { Migration } from "./migration.ts";

/** The models that an account may use with all of its keys, as a JSON array of ids; null: all. */
export const accountModels: Migration = {
  version: 23,
  async up(db) {
    await db.schema.alterTable("accounts").addColumn("allowed_models", "text").execute();
  },
};
