import type { Config } from "../../config/index.ts";
import { GatewayError } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import type { Log } from "../../kernel/index.ts";
import { DeliveryError, findSmtp, type Smtp, sendEmail } from "../../mail/index.ts";
import type { SecretBox } from "../../providers/index.ts";
import { openChannel, recordOutcome } from "./channels.ts";
import { type AlertMessage, createTestMessage, toMailText, toSubject } from "./message.ts";
import { readEpisodeIds } from "./record-findings.ts";
import { createServices } from "./send.ts";
import type { OpenChannel } from "./storeless.ts";

/** The pauses after failed attempts; after the last one the message is dropped. */
const pausesMs = [30_000, 120_000, 600_000, 3_600_000, 6 * 3_600_000];
/** How long another process leaves a message alone that one is sending. */
const claimMs = 60_000;
const messagesAtOnce = 10;
/** A receiver may ask for a longer pause; beyond this it is tried anyway. */
const retryAfterMsMax = 24 * 3_600_000;
/** Admins of a team who get a message. */
const recipientsMax = 10;

export interface DeliveryDeps {
  readonly store: Store;
  /** Decrypts channels and the mail server. */
  readonly secrets: SecretBox;
  readonly config: Pick<Config, "smtpUrl" | "smtpFrom" | "proxyEnv" | "publicUrl" | "of">;
  readonly now: () => number;
  readonly log: Log;
}

/** Sends messages to channels. */
export function createDelivery(deps: DeliveryDeps) {
  const { store, secrets, config, now, log } = deps;
  const { db } = store;
  const sendToService = createServices(deps);

  /** @param smtp The mail server where it is known; it is read otherwise. */
  async function send(open: OpenChannel, message: AlertMessage, knownSmtp?: Smtp): Promise<void> {
    const { channel, target } = open;
    if (channel.kind !== "email") return await sendToService(open, message);
    const smtp = knownSmtp ?? (await findSmtp(deps));
    if (smtp === undefined) throw new DeliveryError("No mail server is configured");
    await sendEmail(smtp, target.to ?? (await findEmails(store, channel.owner)), {
      id: message.id,
      subject: toSubject(message),
      text: toMailText(message),
    });
  }

  /** Sends and records the outcome. Returns why it failed. */
  async function attempt(id: string, message: AlertMessage): Promise<DeliveryError | undefined> {
    let error: DeliveryError | undefined;
    let name: string | undefined;
    try {
      const open = await openChannel(store, secrets, id);
      name = open.channel.name;
      await send(open, open.channel.kind === "pagerduty" ? await dropEnded(open, message) : message);
    } catch (thrown) {
      if (thrown instanceof DeliveryError) error = thrown;
      else error = new DeliveryError(thrown instanceof GatewayError ? thrown.message : "The message could not be sent");
      log.warn("alert_not_sent", { channel: id, name, error: thrown });
    }
    await recordOutcome(store, id, { error: error?.message, now: now() });
    return error;
  }

  /**
   * Leaves out alerts that have ended since the message was queued: an incident that is triggered after its end was sent
   * would stay open.
   */
  async function dropEnded({ channel }: OpenChannel, message: AlertMessage): Promise<AlertMessage> {
    if (message.type !== "alert") return message;
    const firing = await readEpisodeIds(store, channel.owner);
    return { ...message, alerts: message.alerts.filter(({ id, status }) => status === "resolved" || firing.has(id)) };
  }

  async function deliver(row: { id: string; channel_id: string; body: string; attempts: number; next_at: number }) {
    const { numUpdatedRows } = await db
      .updateTable("alert_messages")
      .set({ attempts: row.attempts + 1, next_at: now() + claimMs })
      .where("id", "=", row.id)
      .where("next_at", "=", row.next_at)
      .executeTakeFirstOrThrow();
    if (numUpdatedRows === 0n) return;
    const error = await attempt(row.channel_id, JSON.parse(row.body) as AlertMessage);
    const pauseMs = pausesMs[row.attempts];
    if (error === undefined || error.isFinal || pauseMs === undefined) {
      await db.deleteFrom("alert_messages").where("id", "=", row.id).execute();
      return;
    }
    const waitMs = Math.max(pauseMs, Math.min(error.retryAfterMs ?? 0, retryAfterMsMax));
    await db
      .updateTable("alert_messages")
      .set({ next_at: now() + waitMs })
      .where("id", "=", row.id)
      .execute();
  }

  return {
    send,
    /** Sends the messages that are due, and resolves when each has been tried. */
    async deliverDue(): Promise<void> {
      const due = await db
        .selectFrom("alert_messages")
        .selectAll()
        .where("next_at", "<=", now())
        .orderBy("next_at")
        .limit(messagesAtOnce)
        .execute();
      await Promise.all(due.map(deliver));
    },
    /** Sends a test message. Returns why it failed. */
    sendTest: async (id: string) => (await attempt(id, createTestMessage(config.publicUrl, now())))?.message,
  };
}

/**
 * The address of an account, or the addresses of the admins of a team without an address. An address that is not
 * verified gets no mail.
 */
async function findEmails({ db }: Pick<Store, "db">, accountId: string): Promise<string[]> {
  const row = await db
    .selectFrom("accounts")
    .leftJoin("users", "users.account_id", "accounts.id")
    .select(["accounts.email", "users.email_verified"])
    .where("accounts.id", "=", accountId)
    .executeTakeFirst();
  if (row === undefined) throw new DeliveryError("The account no longer exists");
  if (row.email_verified === 0) throw new DeliveryError("The e-mail of the account is not verified");
  if (!row.email.endsWith(".invalid")) return [row.email];
  const admins = await db
    .selectFrom("memberships")
    .innerJoin("users", "users.id", "memberships.user_id")
    .innerJoin("accounts", "accounts.id", "users.account_id")
    .select("accounts.email")
    .where("memberships.account_id", "=", accountId)
    .where("memberships.role", "=", "admin")
    .where("accounts.disabled_at", "is", null)
    .where("users.email_verified", "=", 1)
    .orderBy("memberships.joined_at")
    .limit(recipientsMax)
    .execute();
  if (admins.length === 0) throw new DeliveryError("The team has no admin whose e-mail is verified");
  return admins.map(({ email }) => email);
}
