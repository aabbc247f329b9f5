import type { TransactionScope } from "../db/index.ts";

/** An account or key of another gateway that an import recreates here. */
export interface Imported {
  /** The other gateway: `litellm`, `new-api`, `openrouter`. */
  readonly source: string;
  readonly kind: "account" | "key";
  /** Its id there. */
  readonly ref: string;
}

/** The id of the account or key that an earlier import created for it. */
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
 * Records the import in the transaction that creates the account or key; the next import then finds it. Of two
 * concurrent imports, the second fails.
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
