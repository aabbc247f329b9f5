import type { Kysely } from "kysely";
import type { Blobs } from "./blobs.ts";
import type { BookWrite } from "./book-write.ts";
import type { Database } from "./database.ts";
import type { Funds } from "./funds.ts";
import type { KeyRecord } from "./key-reader.ts";

/** The state of the gateway on disk. */
export interface Store {
  /** For everything off the hot path. A transaction of it takes the write lock at its begin: keep it short. */
  readonly db: Kysely<Database>;
  readonly blobs: Blobs;
  /**
   * Counts the changes made beside the ledger's own writes, by {@link Store.touch} and by other processes. Whoever
   * keeps a copy of rows in memory compares it with the count at the time of the copy.
   */
  readonly revision: number;
  /**
   * Writes facts of the books in one transaction: all of them or none. Each kind of write may be repeated safely but
   * an {@link BookWrite} that opens a call whose id is taken.
   *
   * @throws {Error} The engine's error; nothing is written then. {@link isConstraintError} tells a bad write from a bad disk.
   */
  writeBooks(batch: readonly BookWrite[]): Promise<void>;
  /** What is written of an account's money and quota, now. */
  readFunds(accountId: string): Funds;
  /** The key with this public id and what its account says about it. */
  readKey(keyId: string): KeyRecord | undefined;
  /** Says that accounts, keys or wallets were changed by this process, so that copies in memory are read anew. */
  touch(): void;
  /** Asks whether another process committed since the last question; cheap enough for a timer. Counts up `revision`. */
  outsideChange(): boolean;
  /** The setting of this name, made and kept at the first question. */
  setting(name: string, make: () => string): Promise<string>;
  /** Ends the connection. Repeating it does nothing. */
  close(): Promise<void>;
}

/** What {@link openStore} wants. */
export interface StoreOptions {
  /** The SQLite file, made when absent; its folder must exist. */
  file: string;
  /** Milliseconds since 1970; default the system's clock. */
  now?: () => number;
}
