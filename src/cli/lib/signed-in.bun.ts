import { Database } from "bun:sqlite";
import { chmodSync, mkdirSync, readFileSync, rmSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";
import { isRecord, parseJson } from "../../lib/json.ts";
import { prepareFile } from "../../providers/write-file.ts";

type Env = Readonly<Record<string, string | undefined>>;

/** The sign-in of this user of the machine, in a file for nobody else. */
export interface SignedIn {
  readonly url: string;
  readonly email: string;
  readonly access_token: string;
  readonly refresh_token: string;
  /** Milliseconds since 1970. */
  readonly expires_at: number;
}

/** The user's own configuration, which is not the gateway's home. */
function getFolder({ XDG_CONFIG_HOME: xdg, HOME: home = homedir() }: Env): string {
  return join(xdg || join(home, ".config"), "modelgate");
}

const getFile = (env: Env) => join(getFolder(env), "login.json");

/** `undefined` when nobody has signed in, or the file is not one of ours. */
export function readSignedIn(env: Env): SignedIn | undefined {
  let text: string;
  try {
    text = readFileSync(getFile(env), "utf8");
  } catch {
    return undefined;
  }
  const value = parseJson(text, "file");
  if (!isRecord(value)) return undefined;
  const { url, email, access_token, refresh_token, expires_at } = value;
  const isWhole =
    typeof url === "string" &&
    typeof email === "string" &&
    typeof access_token === "string" &&
    typeof refresh_token === "string" &&
    typeof expires_at === "number";
  return isWhole ? { url, email, access_token, refresh_token, expires_at } : undefined;
}

/** Replaces the file at once: a reader has the old sign-in or the new one. @returns Its path. */
export function writeSignedIn(env: Env, signedIn: SignedIn): string {
  makeFolder(env);
  const file = getFile(env);
  prepareFile(file, `${JSON.stringify(signedIn, null, 2)}\n`, 0o600).place();
  return file;
}

export function removeSignedIn(env: Env): void {
  rmSync(getFile(env), { force: true });
}

function makeFolder(env: Env): string {
  const folder = getFolder(env);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

const lockWaitMs = 30_000;
const retryMs = 50;

/**
 * Runs work while no other process of this user does: a refresh token works once. The lock is one of SQLite, so it ends
 * with its process however that ends.
 */
export async function withLock<Result>(env: Env, work: () => Promise<Result>): Promise<Result> {
  const file = join(makeFolder(env), "login.lock");
  const lock = new Database(file, { create: true });
  try {
    chmodSync(file, 0o600);
    const until = Date.now() + lockWaitMs;
    while (!tryLock(lock)) {
      if (Date.now() > until) throw new Error("Another modelgate has held the sign-in for 30 s; try again");
      await Bun.sleep(retryMs);
    }
    return await work();
  } finally {
    lock.close();
  }
}

function tryLock(lock: Database): boolean {
  try {
    lock.run("begin exclusive");
    return true;
  } catch (error) {
    if ((error as { code?: string }).code === "SQLITE_BUSY") return false;
    throw error;
  }
}
