import { GatewayError } from "../contract/index.ts";
import type { Database, Store } from "../db/index.ts";
import { type AlertNotice, createMessage } from "./message.ts";
import { type Finding, getRuleInfo, type Rule } from "./rules.ts";
import type { ToldAlert } from "./storeless.ts";

/** How often the rules are looked at. */
export const roundMs = 60_000;
/** An alert that no node has found for so long is resolved: two rounds may be late. */
const clearedMs = 2.5 * roundMs;
/** Minimum time before a continuing alert is sent again. */
const repeatMs = 86_400_000;
/** Messages that wait for one channel; beyond them new ones are dropped. */
const waitingMax = 20;
/** How long alerts that are over are kept. */
const historyMs = 90 * 86_400_000;
const chunkSize = 200;

/** A finding and whom it concerns. */
export interface OwnedFinding extends Finding {
  readonly owner: string;
}

type AlertRow = Database["alerts"];
type Db = Store["db"];

export interface RecordOptions {
  readonly now: number;
  readonly publicUrl: string | undefined;
  /** Alerts that were sent without the database, by their ids. */
  readonly sentAlerts?: ReadonlyMap<string, ToldAlert>;
}

/**
 * Records findings. Messages to the channels of the owner are queued for a new alert, an alert that got worse, an alert
 * that is another day old, and an alert that is over. Several nodes may do this at once: each message is queued once.
 */
export async function recordFindings(
  { db }: Pick<Store, "db">,
  findings: readonly OwnedFinding[],
  { now, publicUrl, sentAlerts }: RecordOptions,
): Promise<void> {
  // Sorted the same way on all nodes: otherwise they could deadlock.
  const rows = findings.map((finding) => toRow(finding, now, sentAlerts)).sort((a, b) => (a.id < b.id ? -1 : 1));
  // Without a channel nothing is marked as sent, so a channel that is added later still gets the alert.
  const owners = await db.selectFrom("alert_channels").select("owner").distinct().execute();
  const reachable = new Set(owners.map(({ owner }) => owner));
  const muted = await readMutes({ db }, now);
  const isTold = ({ id, owner }: AlertRow) => reachable.has(owner) && !muted.has(id);
  const alertsBefore = new Map((await db.selectFrom("alerts").selectAll().execute()).map((row) => [row.id, row]));
  const same = rows.filter((row) => {
    const before = alertsBefore.get(row.id);
    return before?.text === row.text && before.level === row.level && !(isTold(row) && isDue(before, row.level, now));
  });
  for (let from = 0; from < same.length; from += chunkSize) {
    const ids = same.slice(from, from + chunkSize).map(({ id }) => id);
    await db.updateTable("alerts").set({ seen_at: now }).where("id", "in", ids).execute();
  }
  const changed = rows.filter((row) => !same.includes(row));
  const findingIds = new Set(rows.map(({ id }) => id));
  const isCleared = [...alertsBefore.values()].some(
    ({ id, seen_at }) => !findingIds.has(id) && seen_at <= now - clearedMs,
  );
  if (changed.length === 0 && !isCleared) return;
  await db.transaction().execute(async (transaction) => {
    const notices: [owner: string, notice: AlertNotice][] = [];
    for (const row of changed) {
      await upsert(transaction, row);
      const claimed = isTold(row) ? await claim(transaction, row, now) : undefined;
      if (claimed !== undefined) notices.push([row.owner, toNotice(claimed, "firing")]);
    }
    for (const row of await clear(transaction, now)) {
      if (row.notified_at !== null && !muted.has(row.id)) notices.push([row.owner, toNotice(row, "resolved")]);
      await keep(transaction, row);
    }
    await transaction
      .deleteFrom("alert_history")
      .where("ended_at", "<", now - historyMs)
      .execute();
    const byOwner = Map.groupBy(notices, ([owner]) => owner);
    for (const [owner, all] of byOwner) {
      await queue(
        transaction,
        owner,
        createMessage(
          all.map(([, notice]) => notice),
          publicUrl,
        ),
        now,
      );
    }
  });
}

/** The alerts of an owner that are firing and not muted, the latest first. */
export async function readFiring({ db }: Pick<Store, "db">, owner: string, now: number) {
  const rows = await db
    .selectFrom("alerts")
    .select(["id", "rule", "text", "level", "since_at"])
    .where("owner", "=", owner)
    .orderBy("since_at", "desc")
    .execute();
  const muted = await readMutes({ db }, now);
  return rows.filter(({ id }) => !muted.has(id));
}

/** When the mute of each alert ends; `null`: only a user ends it. Mutes that have ended are left out. */
export async function readMutes({ db }: Pick<Store, "db">, now: number): Promise<ReadonlyMap<string, number | null>> {
  const rows = await db.selectFrom("alert_mutes").select(["alert_id", "until_at"]).execute();
  return new Map(
    rows
      .filter(({ until_at: until }) => until === null || until > now)
      .map(({ alert_id, until_at }) => [alert_id, until_at]),
  );
}

/**
 * Stops messages about an alert, even if it ends and comes again, or ends the mute.
 *
 * @param mute `until`: `null`: until a user ends it. Absent: it is no longer muted.
 * @throws {GatewayError} `not_found` when it is not firing.
 */
export async function muteAlert(
  { db }: Pick<Store, "db">,
  owner: string,
  id: string,
  mute: { until: number | null; by: string } | undefined,
): Promise<void> {
  if (mute === undefined) {
    await db.deleteFrom("alert_mutes").where("alert_id", "=", id).where("owner", "=", owner).execute();
    return;
  }
  const alert = await db
    .selectFrom("alerts")
    .select("id")
    .where("id", "=", id)
    .where("owner", "=", owner)
    .executeTakeFirst();
  if (alert === undefined)
    throw new GatewayError("not_found", "This alert is no longer active; it may have been resolved");
  const change = { until_at: mute.until, muted_by: mute.by };
  await db
    .insertInto("alert_mutes")
    .values({ alert_id: id, owner, ...change })
    .onConflict((conflict) => conflict.column("alert_id").doUpdateSet(change))
    .execute();
}

/** The latest alerts of an owner that are over, the last to end first. */
export function readHistory({ db }: Pick<Store, "db">, owner: string, limit: number) {
  return db
    .selectFrom("alert_history")
    .select(["id", "rule", "text", "level", "since_at", "ended_at"])
    .where("owner", "=", owner)
    .orderBy("ended_at", "desc")
    .orderBy("id")
    .limit(limit)
    .execute();
}

/** Id of an alert: there is one of a rule and a subject. */
export function toAlertId({ owner, rule, subject }: Pick<OwnedFinding, "owner" | "rule" | "subject">): string {
  return `${owner} ${rule} ${subject}`;
}

function toRow(finding: OwnedFinding, now: number, sentAlerts: RecordOptions["sentAlerts"]): AlertRow {
  const { owner, rule, text, level } = finding;
  const id = toAlertId(finding);
  const sentAlert = sentAlerts?.get(id);
  const notified = { notified_at: sentAlert?.at ?? null, notified_level: sentAlert?.level ?? null };
  return { id, owner, rule, text, level, since_at: sentAlert?.at ?? now, seen_at: now, ...notified };
}

/** Whether a message about an alert is to be sent. */
function isDue({ rule, since_at, notified_at, notified_level }: AlertRow, level: number, now: number): boolean {
  if (notified_at === null) return since_at <= now - getDelayMs(rule);
  return notified_at <= now - repeatMs || level > (notified_level ?? 0);
}

function getDelayMs(rule: string): number {
  return rule === "metric" ? 0 : (getRuleInfo(rule as Rule).delayMs ?? 0);
}

async function upsert(db: Db, row: AlertRow): Promise<void> {
  const { seen_at, text, level } = row;
  await db
    .insertInto("alerts")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ seen_at, text, level }))
    .execute();
}

/** Marks an alert as sent, if it is due and no other node has marked it. */
function claim(db: Db, { id, rule, level }: AlertRow, now: number): Promise<AlertRow | undefined> {
  return db
    .updateTable("alerts")
    .set({ notified_at: now, notified_level: level })
    .where("id", "=", id)
    .where(({ and, eb, or }) =>
      or([
        and([eb("notified_at", "is", null), eb("since_at", "<=", now - getDelayMs(rule))]),
        eb("notified_at", "<=", now - repeatMs),
        eb("notified_level", "<", level),
      ]),
    )
    .returningAll()
    .executeTakeFirst();
}

/** Deletes the alerts that are over; each is returned to one node. */
function clear(db: Db, now: number): Promise<AlertRow[]> {
  return db
    .deleteFrom("alerts")
    .where("seen_at", "<=", now - clearedMs)
    .returningAll()
    .execute();
}

/** Keeps an alert that is over, from when it was last seen. */
async function keep(db: Db, { id: alert_id, owner, rule, text, level, since_at, seen_at }: AlertRow): Promise<void> {
  const row = { alert_id, owner, rule, text, level, since_at, ended_at: seen_at };
  await db
    .insertInto("alert_history")
    .values({ id: crypto.randomUUID(), ...row })
    .execute();
}

function toNotice({ rule, text, since_at }: AlertRow, status: AlertNotice["status"]): AlertNotice {
  return { rule: rule as AlertNotice["rule"], status, text, since: new Date(since_at).toISOString() };
}

async function queue(db: Db, owner: string, message: ReturnType<typeof createMessage>, now: number): Promise<void> {
  const channels = await db
    .selectFrom("alert_channels")
    .leftJoin("alert_messages", "alert_messages.channel_id", "alert_channels.id")
    .select(({ fn }) => ["alert_channels.id", fn.count("alert_messages.id").as("waiting")])
    .where("owner", "=", owner)
    .groupBy("alert_channels.id")
    .execute();
  const free = channels.filter(({ waiting }) => Number(waiting) < waitingMax);
  if (free.length === 0) return;
  const body = JSON.stringify(message);
  const values = free.map(({ id }) => ({ id: `${message.id}:${id}`, channel_id: id, body, attempts: 0, next_at: now }));
  await db.insertInto("alert_messages").values(values).execute();
}
