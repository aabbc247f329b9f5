import { sql } from "kysely";
import { actorPrefix, adminKeyOf } from "../audit/index.ts";
import type { AdminKeysTable, Store } from "../db/index.ts";

/**
 * An admin key may create others, which may create others again. A key is valid as long as every key in its line of
 * creators is. So revoking a leaked key also ends every key that its finder created with it, even at the same moment.
 * The rows of descendants are not changed; the line is read at each use.
 */

/** Fields of a key that decide whether it is valid. */
type Link = Pick<AdminKeysTable, "id" | "created_by" | "revoked_at" | "expires_at">;

/** Keys of a line, the key itself first. */
export type KeyLine<Row extends Link = AdminKeysTable> = readonly [Row, ...Row[]];

/** How a key has ended, by itself or with a key of its line. */
export interface KeyEnd {
  readonly kind: "revoked" | "expired" | "unknown";
  /** The key that ended. */
  readonly keyId: string;
  /** Milliseconds since 1970. */
  readonly at: number;
}

/**
 * Maximum length of a line that is read: there are fewer usable keys than this, and a key after an ended key has ended
 * too.
 */
const lineMax = 250;

/** Reads an admin key with the line of its creators; `undefined` when there is no such key. */
export async function readKeyLine(db: Store["db"], id: string): Promise<KeyLine | undefined> {
  const { rows } = await sql<AdminKeysTable>`
    with recursive line as (
      select admin_keys.*, 0 as place from admin_keys where id = ${id}
      union all
      select admin_keys.*, line.place + 1 as place from admin_keys
      join line on line.created_by = ${actorPrefix} || admin_keys.id where line.place < ${lineMax}
    )
    select * from line order by place`.execute(db);
  return toLine(rows);
}

/** The lines of all keys, from their rows. */
export function toKeyLines<Row extends Link>(rows: readonly Row[]): KeyLine<Row>[] {
  const byId = new Map(rows.map((row) => [row.id, row]));
  return rows.map((row) => {
    const line: [Row, ...Row[]] = [row];
    for (let maker = findMaker(byId, row); maker !== undefined; maker = findMaker(byId, maker)) {
      if (line.length > lineMax) break;
      line.push(maker);
    }
    return line;
  });
}

function findMaker<Row extends Link>(byId: ReadonlyMap<string, Row>, { created_by: by }: Row): Row | undefined {
  return byId.get(adminKeyOf(by) ?? "");
}

function toLine<Row>([key, ...makers]: readonly Row[]): readonly [Row, ...Row[]] | undefined {
  return key === undefined ? undefined : [key, ...makers];
}

/** How the first key of a line has ended, by the nearest ended key; `undefined` while it is valid. */
export function findKeyEnd(line: KeyLine<Link>, now: number): KeyEnd | undefined {
  for (const { id: keyId, revoked_at: revokedAt, expires_at: expiresAt } of line) {
    if (revokedAt !== null) return { kind: "revoked", keyId, at: revokedAt };
    if (expiresAt !== null && expiresAt <= now) return { kind: "expired", keyId, at: expiresAt };
  }
  const last = line.at(-1) as Link;
  // The row of a creator is missing: the key cannot be shown to be valid.
  if (adminKeyOf(last.created_by) !== undefined) return { kind: "unknown", keyId: last.id, at: now };
  return undefined;
}
