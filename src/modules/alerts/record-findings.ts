import { GatewayError } from "../../contract/index.ts";
import type { Database, Store } from "../../db/index.ts";
import { type Channel, isTakenBy, listChannels } from "./channels.ts";
import { noticesPerPage } from "./formats/pagerduty.ts";
import { type AlertMessage, type AlertNotice, createMessage } from "./message.ts";
import { toLink, toPage } from "./pages.ts";
import { gatewayOwner } from "./rule-settings.ts";
import { type Finding, getRuleInfo, type Rule } from "./rules.ts";
import type { ToldAlert } from "./storeless.ts";
import {
  readSubject,
  type Severity,
  toAlertKey,
  toEpisodeId,
  toRank,
  toSeverity,
  toSubjectColumns,
} from "./subject.ts";

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
  /** Alerts that were sent without the database, by their keys. */
  readonly sentAlerts?: ReadonlyMap<string, ToldAlert>;
  /** The keys of alerts that are over for certain: they do not wait until nobody has found them for a while. */
  readonly ended?: ReadonlySet<string>;
}

/**
 * Records findings. Messages to the channels of the owner are queued for a new alert, an alert that got worse, an alert
 * that is another day old, and an alert that is over. Several nodes may do this at once: each message is queued once.
 */
export async function recordFindings(
  { db }: Pick<Store, "db">,
  findings: readonly OwnedFinding[],
  { now, publicUrl, sentAlerts, ended = new Set() }: RecordOptions,
): Promise<void> {
  // Sorted the same way on all nodes: otherwise they could deadlock.
  const rows = findings.map((finding) => toRow(finding, now, sentAlerts)).sort((a, b) => (a.id < b.id ? -1 : 1));
  // Without a channel nothing is marked as sent, so a channel that is added later still gets the alert.
  // An alert that no channel takes is not marked as sent, so a channel that is added later still gets it.
  const channels = await readChannelsOf(db, new Set(rows.map(({ owner }) => owner)));
  const muted = await readMutes({ db }, now);
  const isTold = ({ id, owner, rule, severity: rank, subject_key: subjectKey }: AlertRow) => {
    const alert = { rule, subjectKey, severity: toSeverity(rank) };
    return !muted.has(id) && channels.get(owner)?.some((channel) => isTakenBy(channel, alert)) === true;
  };
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
    ({ id, seen_at }) => !findingIds.has(id) && (ended.has(id) || seen_at <= now - clearedMs),
  );
  if (changed.length === 0 && !isCleared) return;
  await db.transaction().execute(async (transaction) => {
    const notices: OwnedNotice[] = [];
    for (const row of changed) {
      await upsert(transaction, row);
      const claimed = isTold(row) ? await claim(transaction, row, now) : undefined;
      if (claimed === undefined) continue;
      notices.push(toOwnedNotice(claimed, { severity: toSeverity(claimed.severity), publicUrl }));
    }
    const over = [...ended].filter((id) => !findingIds.has(id));
    for (const row of await clear(transaction, over, now)) {
      if (row.notified_at !== null) {
        const severity = toSeverity(row.notified_severity ?? row.severity);
        notices.push(toOwnedNotice(row, { severity, publicUrl, resolvedAt: row.seen_at, isMuted: muted.has(row.id) }));
      }
      await keep(transaction, row, row.notified_at === null ? await explainUnsent(transaction, row, muted) : "");
    }
    await transaction
      .deleteFrom("alert_history")
      .where("ended_at", "<", now - historyMs)
      .execute();
    for (const [owner, all] of Map.groupBy(notices, (notice) => notice.owner)) {
      await queueNotices(transaction, owner, all, { now, publicUrl });
    }
  });
}

/** The channels of some owners. */
async function readChannelsOf(db: Db, owners: ReadonlySet<string>): Promise<ReadonlyMap<string, readonly Channel[]>> {
  const all = [...owners];
  const channels = new Map<string, readonly Channel[]>();
  for (let from = 0; from < all.length; from += chunkSize) {
    const part = await listChannels({ db }, ...all.slice(from, from + chunkSize));
    for (const [owner, list] of Map.groupBy(part, (channel) => channel.owner)) channels.set(owner, list);
  }
  return channels;
}

/** A notice with what channels choose by. */
interface OwnedNotice {
  readonly owner: string;
  readonly subjectKey: string;
  readonly notice: AlertNotice;
  readonly isMuted: boolean;
}

function toOwnedNotice(
  row: AlertRow,
  { severity, publicUrl, resolvedAt, isMuted = false }: NoticeOptions & { readonly isMuted?: boolean },
): OwnedNotice {
  const notice = toNotice(row, { severity, publicUrl, resolvedAt });
  return { owner: row.owner, subjectKey: row.subject_key, notice, isMuted };
}

/** An alert that is firing. */
export interface FiringAlert extends Pick<AlertNotice, "id" | "severity" | "subject" | "text" | "link"> {
  readonly rule: string;
  /** Path of the page of the dashboard about it. */
  readonly page: string;
  readonly startedAt: number;
  /** When the last message about it was queued; absent: none was. */
  readonly notifiedAt: number | undefined;
  /** When its mute ends; `null`: when a user ends it; absent: it is not muted. */
  readonly mutedUntil: number | null | undefined;
}

/** The alerts of an owner that are firing, the latest first. */
export async function readFiring(
  { db }: Pick<Store, "db">,
  owner: string,
  { now, publicUrl }: { now: number; publicUrl: string | undefined },
): Promise<FiringAlert[]> {
  const rows = await readAlertRows(db, owner);
  const muted = await readMutes({ db }, now);
  return rows.map((row) => {
    const { id, severity, subject, text, link } = toNotice(row, { severity: toSeverity(row.severity), publicUrl });
    const times = { startedAt: row.since_at, notifiedAt: row.notified_at ?? undefined };
    return {
      id,
      rule: row.rule,
      severity,
      subject,
      text,
      link,
      page: row.page,
      ...times,
      mutedUntil: muted.get(row.id),
    };
  });
}

/** The ids of the episodes of an owner's alerts that are firing. */
export async function readEpisodeIds({ db }: Pick<Store, "db">, owner: string): Promise<ReadonlySet<string>> {
  return new Set((await readAlertRows(db, owner)).map((row) => toEpisodeId(row.id, row.since_at)));
}

/** Since when the alerts of an owner are firing, by their keys. */
export async function readStartTimes({ db }: Pick<Store, "db">, owner: string): Promise<ReadonlyMap<string, number>> {
  return new Map((await readAlertRows(db, owner)).map(({ id, since_at }) => [id, since_at]));
}

function readAlertRows(db: Db, owner: string): Promise<AlertRow[]> {
  return db
    .selectFrom("alerts")
    .selectAll()
    .where("owner", "=", owner)
    .orderBy("since_at", "desc")
    .orderBy("id")
    .execute();
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
 * @param episodeId The id that messages have.
 * @param mute `until`: `null`: until a user ends it. Absent: it is no longer muted.
 * @throws {GatewayError} `not_found` when it is not firing.
 */
export async function muteAlert(
  { db }: Pick<Store, "db">,
  owner: string,
  episodeId: string,
  mute: { until: number | null; by: string } | undefined,
): Promise<void> {
  const alert = (await readAlertRows(db, owner)).find((row) => toEpisodeId(row.id, row.since_at) === episodeId);
  if (alert === undefined) {
    throw new GatewayError("not_found", "This alert is no longer active; it may have been resolved");
  }
  const { id } = alert;
  if (mute === undefined) {
    await db.deleteFrom("alert_mutes").where("alert_id", "=", id).where("owner", "=", owner).execute();
    return;
  }
  const change = { until_at: mute.until, muted_by: mute.by };
  await db
    .insertInto("alert_mutes")
    .values({ alert_id: id, owner, ...change })
    .onConflict((conflict) => conflict.column("alert_id").doUpdateSet(change))
    .execute();
}

/** An alert that is over. */
export interface PastAlert
  extends Pick<FiringAlert, "id" | "rule" | "severity" | "subject" | "text" | "link" | "page"> {
  readonly startedAt: number;
  readonly endedAt: number;
}

/** The latest alerts of an owner that are over, the last to end first. */
export async function readHistory(
  { db }: Pick<Store, "db">,
  owner: string,
  { limit, publicUrl }: { limit: number; publicUrl: string | undefined },
): Promise<PastAlert[]> {
  const rows = await db
    .selectFrom("alert_history")
    .selectAll()
    .where("owner", "=", owner)
    .orderBy("ended_at", "desc")
    .orderBy("id")
    .limit(limit)
    .execute();
  return rows.map(({ id, rule, text, severity, page, since_at: startedAt, ended_at: endedAt, ...row }) => {
    const shown = { severity: toSeverity(severity), subject: readSubject(row), link: toLink(publicUrl, page) };
    return { id, rule, text, ...shown, page, startedAt, endedAt };
  });
}

function toRow(finding: OwnedFinding, now: number, sentAlerts: RecordOptions["sentAlerts"]): AlertRow {
  const { owner, rule, text, level, about } = finding;
  const id = toAlertKey(finding);
  const sentAlert = sentAlerts?.get(id);
  const severity = toRank(finding.severity);
  const notified = {
    notified_at: sentAlert?.at ?? null,
    notified_level: sentAlert?.level ?? null,
    notified_severity: sentAlert === undefined ? null : severity,
  };
  const place = { ...toSubjectColumns(about), page: toPage(finding, owner === gatewayOwner) };
  const times = { since_at: sentAlert?.at ?? Math.min(finding.since ?? now, now), seen_at: now };
  return { id, owner, rule, subject_key: finding.subject, text, level, severity, ...place, ...times, ...notified };
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
  const { seen_at, text, level, severity, subject_name } = row;
  await db
    .insertInto("alerts")
    .values(row)
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ seen_at, text, level, severity, subject_name }))
    .execute();
}

/** Marks an alert as sent, if it is due and no other node has marked it. */
function claim(db: Db, { id, rule, level, severity }: AlertRow, now: number): Promise<AlertRow | undefined> {
  return db
    .updateTable("alerts")
    .set(({ eb }) => ({
      notified_at: now,
      notified_level: level,
      notified_severity: eb
        .case()
        .when("notified_severity", ">", severity)
        .then(eb.ref("notified_severity"))
        .else(severity)
        .end(),
    }))
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
function clear(db: Db, ended: readonly string[], now: number): Promise<AlertRow[]> {
  return db
    .deleteFrom("alerts")
    .where(({ or, eb }) =>
      or([eb("seen_at", "<=", now - clearedMs), ...(ended.length === 0 ? [] : [eb("id", "in", ended)])]),
    )
    .returningAll()
    .execute();
}

/** Why no message about an alert that is over was sent. */
async function explainUnsent(
  db: Db,
  { id, owner, rule, severity: rank, subject_key: subjectKey }: AlertRow,
  muted: ReadonlyMap<string, number | null>,
): Promise<string> {
  if (muted.has(id)) return " Not sent: it was muted.";
  const alert = { rule, subjectKey, severity: toSeverity(rank) };
  const isTaken = (await listChannels({ db }, owner)).some((channel) => isTakenBy(channel, alert));
  return isTaken ? " Not sent: it ended before a message was due." : " Not sent: no channel takes it.";
}

/** Keeps an alert that is over, from when it was last seen. */
async function keep(db: Db, { text: ofAlert, ...row }: AlertRow, unsent: string): Promise<void> {
  const text = `${unsent === "" || /[.!?]$/.test(ofAlert) ? ofAlert : `${ofAlert}.`}${unsent}`;
  const { owner, rule, severity, subject_type, subject_id, subject_name, page, since_at, seen_at } = row;
  const subject = { subject_type, subject_id, subject_name };
  const past = { owner, rule, text, severity, ...subject, page, since_at, ended_at: seen_at };
  await db
    .insertInto("alert_history")
    .values({ id: toEpisodeId(row.id, since_at), ...past })
    // A process that sent it without the database may record it once more after its end.
    .onConflict((conflict) => conflict.column("id").doUpdateSet({ ended_at: seen_at, text, severity }))
    .execute();
}

interface NoticeOptions {
  readonly severity: Severity;
  readonly publicUrl: string | undefined;
  /** Absent while it is firing. */
  readonly resolvedAt?: number | undefined;
}

function toNotice(row: AlertRow, { severity, publicUrl, resolvedAt }: NoticeOptions): AlertNotice {
  return {
    id: toEpisodeId(row.id, row.since_at),
    rule: row.rule as AlertNotice["rule"],
    status: resolvedAt === undefined ? "firing" : "resolved",
    severity,
    subject: readSubject(row),
    text: row.text,
    link: toLink(publicUrl, row.page),
    started_at: new Date(row.since_at).toISOString(),
    resolved_at: resolvedAt === undefined ? null : new Date(resolvedAt).toISOString(),
  };
}

/** Queues for each channel of an owner a message with the alerts that it takes. */
async function queueNotices(
  db: Db,
  owner: string,
  notices: readonly OwnedNotice[],
  { now, publicUrl }: { now: number; publicUrl: string | undefined },
): Promise<void> {
  for (const channel of await listChannels({ db }, owner)) {
    const isPager = channel.kind === "pagerduty";
    const chosen = notices.filter(({ notice, subjectKey, isMuted }) => {
      // An incident that was triggered stays open until it is resolved, whatever was muted or chosen in the meantime.
      if (isPager && notice.status === "resolved") return true;
      const { rule, severity } = notice;
      return !isMuted && isTakenBy(channel, { rule, severity, subjectKey });
    });
    const size = isPager ? noticesPerPage : Math.max(1, chosen.length);
    for (let from = 0; from < chosen.length; from += size) {
      const part = chosen.slice(from, from + size).map(({ notice }) => notice);
      await queueMessage(db, channel.id, createMessage(part, publicUrl), now);
    }
  }
}

/** Queues a message for a channel, unless too many wait for it. */
export async function queueMessage(db: Db, channelId: string, message: AlertMessage, now: number): Promise<void> {
  const { waiting } = await db
    .selectFrom("alert_messages")
    .select(({ fn }) => fn.countAll().as("waiting"))
    .where("channel_id", "=", channelId)
    .executeTakeFirstOrThrow();
  if (Number(waiting) >= waitingMax) return;
  const row = { id: `${message.id}:${channelId}`, channel_id: channelId, body: JSON.stringify(message) };
  await db
    .insertInto("alert_messages")
    .values({ ...row, attempts: 0, next_at: now })
    .onConflict((conflict) => conflict.column("id").doNothing())
    .execute();
}
