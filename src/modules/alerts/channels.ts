import { GatewayError } from "../../contract/index.ts";
import { type Database, inTransaction, lockName, type Store, type TransactionScope } from "../../db/index.ts";
import { DeliveryError } from "../../mail/index.ts";
import { type SecretBox, sealSecret } from "../../providers/index.ts";
import { nextDigestAt } from "./digest-times.ts";
import { pagerdutyUrl } from "./formats/pagerduty.ts";
import { type Severity, toRank } from "./subject.ts";

/** Where messages go; kept encrypted. */
export interface Target {
  /** URL of a webhook or service. A Slack URL is itself a secret. PagerDuty without one is sent to its US region. */
  readonly url?: string;
  /** Integration key of PagerDuty. */
  readonly routingKey?: string;
  /** Signs the messages of a webhook: `whsec_` and base64; absent: they are not signed. */
  readonly secret?: string | undefined;
  /** Addresses of an e-mail channel; absent: the address of the account. */
  readonly to?: readonly string[];
}

export const channelKinds = ["webhook", "email", "slack", "pagerduty", "teams", "discord"] as const;

/** The messages that a channel gets. */
export interface ChannelFilter {
  /** Names of rules, `metric` for all custom rules, and ids of custom rules; absent: all. */
  readonly rules: readonly string[] | undefined;
  /** Alerts that are less severe are not sent. */
  readonly severity: Severity;
  readonly digest: Database["alert_channels"]["digest"];
  /** Hour of the day, UTC. */
  readonly digestHour: number;
}

/** Everything is sent, and no digest. */
export const filterDefault: ChannelFilter = { rules: undefined, severity: "info", digest: "off", digestHour: 8 };

/** Whether a channel takes the messages of an alert. */
export function isTakenBy(
  { rules, severity }: Pick<ChannelFilter, "rules" | "severity">,
  alert: { readonly rule: string; readonly subjectKey: string; readonly severity: Severity },
): boolean {
  if (toRank(alert.severity) < toRank(severity)) return false;
  return rules === undefined || rules.includes(alert.rule) || rules.includes(alert.subjectKey);
}

/** A channel without its secrets. */
export interface Channel extends ChannelFilter {
  readonly id: string;
  readonly owner: string;
  readonly kind: Database["alert_channels"]["kind"];
  readonly name: string;
  /** Where it leads: the origin of a URL, or addresses. */
  readonly label: string;
  readonly createdAt: number;
  readonly sentAt: number | undefined;
  /** Error of the last attempt; absent when it succeeded. */
  readonly error: string | undefined;
  readonly errorAt: number | undefined;
}

/** How many channels an owner may have. */
const channelsMax = 10;

/** Characters of the place in a name that is made of it. */
const placeMax = 60;

const aadOf = (id: string) => `alert channel ${id}`;

export async function listChannels({ db }: Pick<Store, "db">, ...owners: readonly string[]): Promise<Channel[]> {
  const rows = await db
    .selectFrom("alert_channels")
    .selectAll()
    .where("owner", "in", owners)
    .orderBy("created_at")
    .execute();
  return rows.map(toChannel);
}

interface NewChannel {
  readonly box: SecretBox;
  readonly now: number;
  readonly owner: string;
  readonly kind: Channel["kind"];
  /** Absent: its kind and host. */
  readonly name?: string | undefined;
  readonly target: Target;
  /** Absent: all alerts, and no digest. */
  readonly filter?: ChannelFilter;
}

/**
 * @throws {GatewayError} `invalid_request` when the owner has as many channels as are allowed, `conflict` when this gateway
 * cannot encrypt it as the others can.
 */
export async function addChannel(store: TransactionScope, { box, now, ...fields }: NewChannel): Promise<Channel> {
  const { owner, kind, name, target, filter = filterDefault } = fields;
  const id = `ach_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
  return await inTransaction(store, async ({ db, shared }) => {
    // Channels that are added at the same time must count each other.
    await lockName(db, `alert_channels ${owner}`, shared);
    const others = await listChannels({ db }, owner);
    if (others.length >= channelsMax) {
      throw new GatewayError("invalid_request", `There are ${channelsMax} channels already: delete one first`);
    }
    const sealed = await sealSecret(box, db, { owner: aadOf(id), content: JSON.stringify(target) });
    const label = toLabel(kind, target);
    const row = {
      id,
      owner,
      kind,
      name: name ?? pickName(kind, label, others),
      label,
      created_at: now,
      sent_at: null,
      error: null,
      error_at: null,
      target: sealed.secret,
      secrets_id: sealed.secrets_id,
      ...toFilterColumns(filter, now),
    };
    await db.insertInto("alert_channels").values(row).execute();
    return toChannel(row);
  });
}

interface ChannelChange {
  readonly owner: string;
  readonly id: string;
  /** `null`: its kind and host; absent: it stays as it is. */
  readonly name?: string | null | undefined;
  readonly filter: ChannelFilter;
  readonly now: number;
}

/** Changes the name of a channel, and which messages it gets. @throws {GatewayError} `not_found` */
export async function changeChannel(
  { db }: Pick<Store, "db">,
  { owner, id, name, filter, now }: ChannelChange,
): Promise<Channel> {
  const before = await db
    .selectFrom("alert_channels")
    .select(["kind", "name", "label", "digest", "digest_hour", "digest_at"])
    .where("id", "=", id)
    .where("owner", "=", owner)
    .executeTakeFirst();
  if (before === undefined) throw unknownChannel();
  const isSameDigest = before.digest === filter.digest && before.digest_hour === filter.digestHour;
  const others = name === null ? (await listChannels({ db }, owner)).filter((one) => one.id !== id) : [];
  const columns = {
    ...toFilterColumns(filter, now),
    name: name === null ? pickName(before.kind, before.label, others) : (name ?? before.name),
  };
  const row = await db
    .updateTable("alert_channels")
    .set(isSameDigest ? { ...columns, digest_at: before.digest_at } : columns)
    .where("id", "=", id)
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) throw unknownChannel();
  return toChannel(row);
}

/** The first digest is the next one that is due: none is sent for the past. */
function toFilterColumns({ rules, severity, digest, digestHour }: ChannelFilter, now: number) {
  return {
    rules: rules === undefined ? null : JSON.stringify(rules),
    severity,
    digest,
    digest_hour: digestHour,
    digest_at: digest === "off" ? null : nextDigestAt(digest, digestHour, now),
  };
}

/** @throws {GatewayError} `not_found` */
export async function deleteChannel({ db }: Pick<Store, "db">, owner: string, id: string): Promise<void> {
  const { numDeletedRows } = await db
    .deleteFrom("alert_channels")
    .where("id", "=", id)
    .where("owner", "=", owner)
    .executeTakeFirstOrThrow();
  if (numDeletedRows === 0n) throw unknownChannel();
  await db.deleteFrom("alert_messages").where("channel_id", "=", id).execute();
}

/** A channel with where it leads. @throws {GatewayError} `not_found` @throws {DeliveryError} When it cannot be decrypted. */
export async function openChannel(
  { db }: Pick<Store, "db">,
  box: SecretBox,
  id: string,
): Promise<{ channel: Channel; target: Target }> {
  const row = await db.selectFrom("alert_channels").selectAll().where("id", "=", id).executeTakeFirst();
  if (row === undefined) throw unknownChannel();
  const target = box.open(aadOf(id), row.secrets_id, row.target);
  if (target === undefined) {
    throw new DeliveryError(`The channel was encrypted with another ${box.source}: delete it and add it again`);
  }
  return { channel: toChannel(row), target: JSON.parse(target) as Target };
}

/** Records the outcome of an attempt. */
export async function recordOutcome(
  { db }: Pick<Store, "db">,
  id: string,
  { error, now }: { error: string | undefined; now: number },
): Promise<void> {
  const change = error === undefined ? { sent_at: now, error: null, error_at: null } : { error, error_at: now };
  await db.updateTable("alert_channels").set(change).where("id", "=", id).execute();
}

export function unknownChannel(): GatewayError {
  return new GatewayError("not_found", "No alert channel has this id or name");
}

/** The label of the email of an account, whose address may change. */
const ofAccount = "the email address of the account";

/** The origin of a webhook, since the rest of its address may be a secret, or the addresses of an e-mail channel. */
function toLabel(kind: Channel["kind"], { url, to }: Target): string {
  if (kind !== "email") return new URL(url ?? pagerdutyUrl).origin;
  return to === undefined ? ofAccount : to.join(", ");
}

/** How people know each kind. */
const kindTitles: Readonly<Record<Channel["kind"], string>> = {
  webhook: "Webhook",
  email: "Email",
  slack: "Slack",
  pagerduty: "PagerDuty",
  teams: "Teams",
  discord: "Discord",
};

/** A name by kind and host, with a number where another channel of the owner has it. */
function pickName(kind: Channel["kind"], label: string, others: readonly Pick<Channel, "name">[]): string {
  const place = label === ofAccount ? "" : label.replace(/^https?:\/\//, "");
  const shown = place.length > placeMax ? `${place.slice(0, placeMax - 1)}…` : place;
  const first = `${kindTitles[kind]} ${shown}`.trim();
  const names = new Set(others.map(({ name }) => name));
  let name = first;
  for (let number = 2; names.has(name); number += 1) name = `${first} (${number})`;
  return name;
}

function toChannel(row: Database["alert_channels"]): Channel {
  const { id, owner, kind, name, label, created_at: createdAt, sent_at, error, error_at } = row;
  const outcome = { sentAt: sent_at ?? undefined, error: error ?? undefined, errorAt: error_at ?? undefined };
  const filter = {
    rules: row.rules === null ? undefined : (JSON.parse(row.rules) as string[]),
    severity: row.severity,
    digest: row.digest,
    digestHour: row.digest_hour,
  };
  return { id, owner, kind, name, label, createdAt, ...outcome, ...filter };
}
