import { accountLabel } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";

/** The accounts with these ids, each in one line for people; unknown ids are left out. */
export async function readAccountLabels(
  { db }: Pick<Store, "db">,
  ids: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (ids.length === 0) return new Map();
  const rows = await db.selectFrom("accounts").select(["id", "email", "name"]).where("id", "in", ids).execute();
  return new Map(rows.map((row) => [row.id, accountLabel(row)]));
}
