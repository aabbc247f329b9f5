import { recordAudit } from "../../audit/index.ts";
import { GatewayError } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import type { ContentSettings } from "./settings.ts";

/** For whom prompts and answers are kept: for an account with all its keys, or for single keys. */
export interface ContentSwitches {
  readonly account: boolean;
  readonly keyIds: readonly string[];
}

interface SwitchChange {
  readonly accountId: string;
  /** Absent: the whole account. */
  readonly keyId?: string | undefined;
  readonly on: boolean;
  /** The administrator's account. */
  readonly by: string;
}

export async function readSwitches({ db }: Pick<Store, "db">, accountId: string): Promise<ContentSwitches> {
  const rows = await db
    .selectFrom("content_switches")
    .select("subject")
    .where("account_id", "=", accountId)
    .orderBy("subject")
    .execute();
  const subjects = rows.map(({ subject }) => subject);
  return { account: subjects.includes(accountId), keyIds: subjects.filter((subject) => subject !== accountId) };
}

/**
 * Switches on or off that prompts and answers are kept, with an audit entry where that changes something.
 *
 * @throws {GatewayError} `not_found`; `conflict` to switch on where CONTENT_LOG is not `selected`.
 */
export async function setSwitch(
  { store, mode, now }: { store: Store; mode: ContentSettings["contentLog"]; now: () => number },
  { accountId, keyId, on, by }: SwitchChange,
): Promise<void> {
  if (on && mode !== "selected") {
    const message = `CONTENT_LOG is ${mode}; only with CONTENT_LOG=selected can this be switched on for some`;
    throw new GatewayError("conflict", message);
  }
  await store.change(async (db) => {
    const row =
      keyId === undefined
        ? await db.selectFrom("accounts").select("email as name").where("id", "=", accountId).executeTakeFirst()
        : await db
            .selectFrom("keys")
            .select("name")
            .where("id", "=", keyId)
            .where("account_id", "=", accountId)
            .executeTakeFirst();
    if (row === undefined) throw new GatewayError("not_found", "There is no such account or API key");
    const subject = keyId ?? accountId;
    const added = { subject, account_id: accountId, set_by: by, set_at: now() };
    const changed = on
      ? await db
          .insertInto("content_switches")
          .values(added)
          .onConflict((conflict) => conflict.column("subject").doNothing())
          .returning("subject")
          .execute()
      : await db.deleteFrom("content_switches").where("subject", "=", subject).returning("subject").execute();
    if (changed.length === 0) return;
    const detail = { on, ...(keyId !== undefined && { key: keyId, name: row.name }) };
    await recordAudit({ db }, { accountId: by, action: "content.switch", subject: accountId, detail }, now());
  }, keyId);
}
