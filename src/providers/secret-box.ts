import { createHash, randomBytes } from "node:crypto";
import { chownSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import process from "node:process";
import { type Config, getSecretsKeyFile } from "../config/index.ts";
import { decrypt, encrypt, GatewayError } from "../contract/index.ts";
import type { Store } from "../db/index.ts";

interface SecretsKey {
  readonly key: Uint8Array;
  /** Distinguishes secrets keys without revealing anything about them. */
  readonly id: string;
}

/**
 * Encrypts secrets that the database keeps: by `SECRETS_KEY`, or by the key file in the home folder. Neither is in the
 * database, so a copy of the database alone opens none of them.
 */
export class SecretBox {
  readonly #given: string | undefined;
  readonly #file: string;
  #known: SecretsKey | undefined;

  constructor(config: Pick<Config, "home" | "secretsKey">) {
    this.#given = config.secretsKey;
    this.#file = getSecretsKeyFile(config);
  }

  /** Operators' name of the secrets key in use. */
  get source(): "SECRETS_KEY" | "secrets.key" {
    return this.#given === undefined ? "secrets.key" : "SECRETS_KEY";
  }

  /** The id of the secrets key; `undefined` if no secrets key exists yet. */
  get id(): string | undefined {
    return this.#read()?.id;
  }

  /**
   * @param isNew Whether nothing is encrypted yet; then a key file may be created.
   * @throws {GatewayError} `conflict` when there is no secrets key.
   */
  seal(owner: string, content: string | Uint8Array, isNew: boolean): { secret: Uint8Array; secretsId: string } {
    const { key, id } = this.#read() ?? this.#create(isNew);
    const bytes = typeof content === "string" ? new TextEncoder().encode(content) : content;
    return { secret: encrypt(key, owner, bytes), secretsId: id };
  }

  /** The text, or `undefined` when another secrets key encrypted it, or the bytes were changed. */
  open(owner: string, secretsId: string, secret: Uint8Array): string | undefined {
    return this.openBytes(owner, secretsId, secret)?.toString();
  }

  /** Decrypts bytes, as {@link open} does for text. */
  openBytes(owner: string, secretsId: string, secret: Uint8Array): Buffer | undefined {
    const contents = this.#read();
    if (contents?.id !== secretsId) return undefined;
    try {
      return decrypt(contents.key, owner, secret);
    } catch {
      return undefined;
    }
  }

  #read(): SecretsKey | undefined {
    this.#known ??= toSecretsKey(this.#given ?? readIfThere(this.#file));
    return this.#known;
  }

  #create(isNew: boolean): SecretsKey {
    if (!isNew) {
      const remedy = "set the SECRETS_KEY of the other gateways, or copy their secrets.key into this home folder";
      throw new GatewayError("conflict", `This gateway has no key for stored secrets: ${remedy}`);
    }
    try {
      // If two processes create it at once, the second fails here and reads the file of the first.
      writeFileSync(this.#file, `${randomBytes(32).toString("hex")}\n`, { mode: 0o600, flag: "wx" });
      giveToOwnerOf(dirname(this.#file), this.#file);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    return this.#read() as SecretsKey;
  }
}

/** A command that root runs must not keep the file from the user that runs the gateway, who owns the home folder. */
function giveToOwnerOf(folder: string, file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  chownSync(file, uid, gid);
}

function toSecretsKey(text: string | undefined): SecretsKey | undefined {
  if (text === undefined || text.trim() === "") return undefined;
  const key = createHash("sha256").update(`modelgate secrets ${text.trim()}`).digest();
  return { key, id: createHash("sha256").update("id ").update(key).digest("hex").slice(0, 16) };
}

function readIfThere(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === "ENOENT") return undefined;
    throw new GatewayError("conflict", `Cannot read ${file} (${code}); give it to the user that runs the gateway`);
  }
}

/** The setting with the mail server. */
export const smtpSetting = "mail_server";

/** The mail server as it is stored. */
export interface StoredSmtp {
  /** Base64. */
  readonly secret: string;
  readonly secrets_id: string;
}

/**
 * Encrypts a secret for the database. With two secrets keys in one database, gateways could not read each other's
 * secrets, and a new key file must not hide that the key of the stored secrets is missing.
 *
 * @throws {GatewayError} `conflict` when there is no secrets key, or it differs from the key of the stored secrets.
 */
export async function sealSecret(
  box: SecretBox,
  db: Store["db"],
  { owner, content }: { owner: string; content: string },
): Promise<{ secret: Uint8Array; secrets_id: string }> {
  const id = await findSecretsId(db);
  const { secret, secretsId } = box.seal(owner, content, id === undefined && !(await hasChannel(db)));
  if (id === undefined || id === secretsId) return { secret, secrets_id: secretsId };
  const remedy = "restore that key, or remove the stored keys of providers and the mail server first";
  throw new GatewayError(
    "conflict",
    `Stored secrets were encrypted with another ${box.source} than this gateway has: ${remedy}`,
  );
}

/** Whether the database has secrets that are encrypted by a secrets key. */
export async function hasSecrets(db: Store["db"]): Promise<boolean> {
  return (await findSecretsId(db)) !== undefined || (await hasChannel(db));
}

/** Finds the secrets key of the secrets that the operator has stored and can remove; `undefined` without any. */
async function findSecretsId(db: Store["db"]): Promise<string | undefined> {
  const key = await db.selectFrom("provider_keys").select("secrets_id").limit(1).executeTakeFirst();
  if (key !== undefined) return key.secrets_id;
  const smtp = await db.selectFrom("settings").select("value").where("name", "=", smtpSetting).executeTakeFirst();
  return smtp && (JSON.parse(smtp.value) as StoredSmtp).secrets_id;
}

async function hasChannel(db: Store["db"]): Promise<boolean> {
  return (await db.selectFrom("alert_channels").select("id").limit(1).executeTakeFirst()) !== undefined;
}
