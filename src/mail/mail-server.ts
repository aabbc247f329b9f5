import { Buffer } from "node:buffer";
import type { Config } from "../config/index.ts";
import { GatewayError } from "../contract/index.ts";
import type { Store } from "../db/index.ts";
import { type SecretBox, type StoredSmtp, sealSecret, smtpSetting } from "../providers/index.ts";

interface MailDeps {
  readonly store: Pick<Store, "db">;
  readonly secrets: SecretBox;
  readonly config: Pick<Config, "smtpUrl" | "smtpFrom">;
}

/** A mail server. */
export interface Smtp {
  readonly host: string;
  readonly port: number;
  /** TLS from the start; otherwise the connection turns to TLS where the server can. */
  readonly isTls: boolean;
  readonly user?: string | undefined;
  readonly password?: string | undefined;
  /** The sender's address. */
  readonly from: string;
}

/** The mail server of the environment. */
export function parseSmtpUrl(text: string, from: string): Smtp {
  const { protocol, hostname, port, username, password } = new URL(text);
  const isTls = protocol === "smtps:";
  const login = username === "" ? {} : { user: decodeURIComponent(username), password: decodeURIComponent(password) };
  const host = hostname.replace(/^\[|\]$/g, "");
  return { host, port: port === "" ? (isTls ? 465 : 587) : Number(port), isTls, ...login, from };
}

/** Returns the mail server of the environment, otherwise the mail server set on the dashboard. */
export async function findSmtp({ store, secrets, config }: MailDeps): Promise<Smtp | undefined> {
  const { smtpUrl, smtpFrom } = config;
  if (smtpUrl !== undefined && smtpFrom !== undefined) return parseSmtpUrl(smtpUrl, smtpFrom);
  return await readSmtp(store, secrets);
}

/** The mail server that was set on the dashboard; `undefined` also where this gateway cannot decrypt it. */
async function readSmtp({ db }: Pick<Store, "db">, box: SecretBox): Promise<Smtp | undefined> {
  const row = await db.selectFrom("settings").select("value").where("name", "=", smtpSetting).executeTakeFirst();
  if (row === undefined) return undefined;
  const { secret, secrets_id: id } = JSON.parse(row.value) as StoredSmtp;
  const text = box.open(smtpSetting, id, Buffer.from(secret, "base64"));
  return text === undefined ? undefined : (JSON.parse(text) as Smtp);
}

/**
 * Stores the mail server, or removes it. An absent password keeps the stored password. The server sends the links that
 * owners set their passwords with, so only owners may change it.
 *
 * @throws {GatewayError} `invalid_request` when that would send a stored password to another server, `conflict` when
 * this gateway cannot encrypt it as the others can.
 */
export async function writeSmtp(store: Pick<Store, "db">, box: SecretBox, smtp: Smtp | undefined): Promise<void> {
  const { db } = store;
  if (smtp === undefined) {
    await db.deleteFrom("settings").where("name", "=", smtpSetting).execute();
    return;
  }
  const content = JSON.stringify(await withPassword(store, box, smtp));
  const { secret, secrets_id } = await sealSecret(box, db, { owner: smtpSetting, content });
  const stored: StoredSmtp = { secret: Buffer.from(secret).toString("base64"), secrets_id };
  const value = JSON.stringify(stored);
  await db
    .insertInto("settings")
    .values({ name: smtpSetting, value })
    .onConflict((conflict) => conflict.column("name").doUpdateSet({ value }))
    .execute();
}

async function withPassword(store: Pick<Store, "db">, box: SecretBox, smtp: Smtp): Promise<Smtp> {
  if (smtp.user === undefined || smtp.password !== undefined) return smtp;
  const before = await readSmtp(store, box);
  const isSame = (["host", "port", "isTls", "user"] as const).every((name) => before?.[name] === smtp[name]);
  if (isSame && before?.password !== undefined) return { ...smtp, password: before.password };
  throw new GatewayError(
    "invalid_request",
    "password is missing; it is required when the server, port or user changes",
    {
      param: "password",
    },
  );
}
