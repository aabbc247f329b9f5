/** The store cannot be opened. The message is for the operator; the engine's own words are the cause. */
export class StoreError extends Error {
  constructor(message: string, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    this.name = "StoreError";
  }
}

const refusals = {
  standby: "PostgreSQL is a standby, which takes no writes",
  readOnly: "PostgreSQL is read-only",
  incomplete: "The database is being restored, or its restore did not come to its end",
} as const;

/** A server of PostgreSQL takes no writes, or must get none. */
export class NotWritableError extends Error {
  override readonly name = "NotWritableError";

  constructor(kind: keyof typeof refusals) {
    super(refusals[kind]);
  }
}

/** PostgreSQL did not answer. */
export class LostConnectionError extends Error {
  override readonly name = "LostConnectionError";
  /** Tells {@link isOutcomeUnknown} by its presence whether the statement may have run; absent when it was never sent. */
  readonly lostConnection?: true;

  constructor(message: string, wasSent: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause });
    if (wasSent) this.lostConnection = true;
  }
}

/**
 * A commit is in the log of the database, but the log could not be synced to disk: a power failure may lose the commit.
 */
export class NotSyncedError extends Error {
  override readonly name = "NotSyncedError";

  constructor(cause: unknown) {
    super("The log of the database cannot be synced to the disk", { cause });
  }
}

/** A call cannot be held: the database does not have its key, or not as a key of its account. */
export class UnknownPayerError extends Error {
  override readonly name = "UnknownPayerError";

  constructor({ accountId, keyId }: { accountId: string; keyId: string }) {
    super(`Cannot hold for account ${accountId}: the database has no key ${keyId} of it`);
  }
}

/** SQLSTATE raised by the functions of the ledger for a row whose payer is not in `payers`. */
const missingPayer = "MG001";

/** The number of a call's name is not known, or no longer known. */
export class MissingNameError extends Error {
  override readonly name = "MissingNameError";

  constructor(name?: string) {
    super(
      name === undefined
        ? "Cannot write calls: no name was looked up"
        : `Cannot write the name ${name}: it was not looked up`,
    );
  }
}

/** SQLSTATE raised by the functions of the ledger for a batch whose last name is not in `names`. */
const missingName = "MG003";

/** Whether names that this process knows are no longer there, as after a restore. Nothing was written. */
export function isMissingName(error: unknown): boolean {
  return error instanceof MissingNameError || (error instanceof Error && sqlStateOf(error) === missingName);
}

/** SQLSTATE raised by the functions of the ledger for holds of a node whose lease has run out. */
const missingLease = "MG002";

/** Whether a hold was refused because the lease of this process has run out. Nothing was written. */
export function isMissingLease(error: unknown): boolean {
  return error instanceof Error && sqlStateOf(error) === missingLease;
}

/** Whether rows of `payers` that this process knows are no longer there, as after a restore. Nothing was written. */
export function isMissingPayer(error: unknown): boolean {
  return error instanceof Error && sqlStateOf(error) === missingPayer;
}

/** Low byte of SQLite's result codes for a violated constraint (https://www.sqlite.org/rescode.html#constraint). */
const sqliteConstraint = 19;

/**
 * Whether a write failed because of its content, not because of the disk or a lock. The rest of its batch may still be
 * written.
 */
export function isConstraintError(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof UnknownPayerError) return true;
  if ("errcode" in error) return typeof error.errcode === "number" && (error.errcode & 0xff) === sqliteConstraint;
  const state = sqlStateOf(error);
  return state === missingPayer || state?.startsWith("23") === true;
}

/**
 * Whether a failed write may have been committed nevertheless: the connection ended before PostgreSQL answered, or the
 * disk failed to sync what SQLite had written.
 */
export function isOutcomeUnknown(error: unknown): boolean {
  if (error instanceof NotSyncedError) return true;
  if (!(error instanceof Error) || "errcode" in error) return false;
  const state = sqlStateOf(error);
  return "lostConnection" in error || (state !== undefined && /^(08|57P)/.test(state));
}

/** SQLSTATE of an error of PostgreSQL (https://www.postgresql.org/docs/current/errcodes-appendix.html). */
function sqlStateOf(error: Error): string | undefined {
  return "code" in error && typeof error.code === "string" && /^[0-9A-Z]{5}$/.test(error.code) ? error.code : undefined;
}

/** Low bytes of SQLite's result codes for a file that is damaged, or not a database at all. */
const sqliteDamage = [11, 26];

/** Whether SQLite found that its file is damaged. */
export function isDamage(error: unknown): error is Error {
  if (!(error instanceof Error) || !("errcode" in error)) return false;
  return typeof error.errcode === "number" && sqliteDamage.includes(error.errcode & 0xff);
}

/** Low bytes of SQLite's result codes, and what they mean to an operator. */
const sqliteReasons: Readonly<Record<number, string>> = {
  5: "Another process holds the lock of the database",
  6: "Another process holds the lock of the database",
  8: "The database is read-only",
  10: "The disk of the database fails",
  13: "The disk of the database is full",
};

const postgresReasons: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^25006$/, "PostgreSQL is read-only"],
  [/^53100$/, "The disk of PostgreSQL is full"],
  [/^53/, "PostgreSQL is out of memory or connections"],
  [/^57P/, "PostgreSQL shuts down or starts"],
  [/^(55P03|57014)$/, "PostgreSQL is kept from writing by a lock"],
];

/** Whether the database itself failed, not the statement: it cannot be reached, or cannot be read or written now. */
export function isUnusable(error: unknown): boolean {
  const classes = [StoreError, LostConnectionError, NotWritableError, NotSyncedError];
  if (classes.some((type) => error instanceof type) || isDamage(error)) return true;
  if (!(error instanceof Error)) return false;
  if ("errcode" in error) return typeof error.errcode === "number" && (error.errcode & 0xff) in sqliteReasons;
  const state = sqlStateOf(error);
  if (state === undefined) return false;
  return state.startsWith("08") || postgresReasons.some(([pattern]) => pattern.test(state));
}

/** Why a store failed, for anybody: without the words of its engine, which name hosts, files and users. */
export function describeFailure(error: unknown): string {
  if (error instanceof NotWritableError) return error.message;
  if (error instanceof LostConnectionError) {
    return error.cause === undefined ? "PostgreSQL does not answer" : describeFailure(error.cause);
  }
  if (error instanceof AggregateError) {
    const refusal = error.errors.find((each) => each instanceof NotWritableError);
    return refusal === undefined ? "PostgreSQL does not answer" : describeFailure(refusal);
  }
  if (error instanceof NotSyncedError) return "The disk of the database fails";
  if (!(error instanceof Error)) return "The database does not answer";
  if ("errcode" in error && typeof error.errcode === "number") {
    return sqliteReasons[error.errcode & 0xff] ?? "The database refuses writes";
  }
  const state = sqlStateOf(error);
  if (state === undefined) return "PostgreSQL does not answer";
  return postgresReasons.find(([pattern]) => pattern.test(state))?.[1] ?? "PostgreSQL refuses writes";
}
