import type { Kysely } from "kysely";
import type { Database } from "./database.ts";

/** Gets a setting, or keeps the one made now; of two processes that make it at once, one wins and both get its value. */
export async function readSetting(db: Kysely<Database>, name: string, make: () => string): Promise<string> {
  const found = await find(db, name);
  if (found !== undefined) return found;
  await db
    .insertInto("settings")
    .values({ name, value: make() })
    .onConflict((conflict) => conflict.column("name").doNothing())
    .execute();
  const kept = await find(db, name);
  if (kept === undefined) throw new Error(`Cannot keep setting ${name}: it was deleted meanwhile`);
  return kept;
}

async function find(db: Kysely<Database>, name: string): Promise<string | undefined> {
  const row = await db.selectFrom("settings").select("value").where("name", "=", name).executeTakeFirst();
  return row?.value;
}
