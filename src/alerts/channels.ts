import { GatewayError } from "../contract/index.ts";
import { type Database, inTransaction, lockName, type Store, type TransactionScope } from "../db/index.ts";
import { type SecretBox, sealSecret } from "../providers/index.ts";
import { DeliveryError } from "./message.ts";

/** Where messages go; kept encrypted. */
export interface Target {
  /** URL of a webhook. A Slack URL is itself a secret. */
  readonly url?: string;
  /** Signs the messages of a webhook: `whsec_` and base64; absent: they are not signed. */
  readonly secret?: string | undefined;
  /** Addresses of an e-mail channel; absent: the address of the account. */
  readonly to?: readonly string[];
}

/** A channel without its secrets. */
export interface Channel {
  readonly id: string;
  readonly owner: string;
  readonly kind: "webhook" | "email";
  readonly label: string;
  readonly createdAt: number;
  readonly sentAt: number | undefined;
  /** Error of the last attempt; absent when it succeeded. */
  readonly error: string | undefined;
  readonly errorAt: number | undefined;
}

/** How many channels an owner may have. */
const channelsMax = 10;

const aadOf = (id: string) => `alert channel ${id}`;

export async function listChannels({ db }: Pick<Store, "db">, owner: string): Promise<Channel[]> {
  const rows = await db
    .selectFrom("alert_channels")
    .selectAll()
    .where("owner", "=", owner)
    .orderBy("created_at")
    .execute();
  return rows.map(toChannel);
}

/**
 * @throws {GatewayError} `invalid_request` when the owner has as many channels as are allowed, `conflict` when this gateway
 * cannot encrypt it as the others can.
 */
export async function addChannel(
  store: TransactionScope,
  { box, now, ...fields }: { box: SecretBox; now: number; owner: string; kind: Channel["kind"]; target: Target },
): Promise<Channel> {
  const { owner, kind, target } = fields;
  const id = `ach_${crypto.randomUUID().replaceAll("-", "").slice(0, 16)}`;
  return await inTransaction(store, async ({ db, shared }) => {
    // Channels that are added at the same time must count each other.
    await lockName(db, `alert_channels ${owner}`, shared);
    const { count } = await db
      .selectFrom("alert_channels")
      .select((select) => select.fn.countAll().as("count"))
      .where("owner", "=", owner)
      .executeTakeFirstOrThrow();
    if (Number(count) >= channelsMax) {
      throw new GatewayError("invalid_request", `There are ${channelsMax} channels already: delete one first`);
    }
    const sealed = await sealSecret(box, db, { owner: aadOf(id), content: JSON.stringify(target) });
    const row = {
      id,
      owner,
      kind,
      label: toLabel(kind, target),
      created_at: now,
      sent_at: null,
      error: null,
      error_at: null,
      target: sealed.secret,
      secrets_id: sealed.secrets_id,
    };
    await db.insertInto("alert_channels").values(row).execute();
    return toChannel(row);
  });
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

function unknownChannel(): GatewayError {
  return new GatewayError("not_found", "No alert channel has this id");
}

/** The origin of a webhook, since the rest of its address may be a secret, or the addresses of an e-mail channel. */
function toLabel(kind: Channel["kind"], { url, to }: Target): string {
  if (kind === "webhook") return new URL(url ?? "").origin;
  return to === undefined ? "the email address of the account" : to.join(", ");
}

function toChannel(row: Database["alert_channels"]): Channel {
  const { id, owner, kind, label, created_at: createdAt, sent_at, error, error_at } = row;
  const outcome = { sentAt: sent_at ?? undefined, error: error ?? undefined, errorAt: error_at ?? undefined };
  return { id, owner, kind, label, createdAt, ...outcome };
}
