import type { TransactionScope } from "../db/index.ts";

/** Something of another gateway, of which an import makes something here. */
export interface Imported {
  /** The other gateway: `litellm`, `new-api`, `openrouter`. */
  readonly source: string;
  readonly kind: "account" | "key";
  /** Its id there. */
  readonly ref: string;
}

/** The id of what an earlier import made of it. */
export async function findImported(
  { db }: Pick<TransactionScope, "db">,
  { source, kind, ref }: Imported,
): Promise<string | undefined> {
  const row = await db
    .selectFrom("imported")
    .select("target")
    .where("source", "=", source)
    .where("kind", "=", kind)
    .where("ref", "=", ref)
    .executeTakeFirst();
  return row?.target;
}

/**
 * Remembers what was made of it, in the transaction that makes it, so that the next import finds it. Of two imports at once, the
 * second fails.
 */
export async function noteImported(
  { db }: Pick<TransactionScope, "db">,
  { target, ...imported }: Imported & { target: string },
  now: number,
): Promise<void> {
  await db
    .insertInto("imported")
    .values({ ...imported, target, imported_at: now })
    .execute();
}
