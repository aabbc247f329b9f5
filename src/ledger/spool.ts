import { createHash } from "node:crypto";
import { mkdir, open, readdir, readFile, rename, rm, stat } from "node:fs/promises";
import { platform } from "node:os";
import { join } from "node:path";
import { type EndedCall, isConstraintError, type Store } from "../db/index.ts";

/** Where ends of calls go that the store does not take. */
export interface EndSpool {
  /** Why the last ends could not be kept; undefined while they could. */
  readonly failure: unknown;
  /** Keeps ends on the disk; false, and each is logged, when that fails. Never rejects. */
  append(ends: readonly EndedCall[]): Promise<boolean>;
  /** All that was appended is in the store. */
  clear(): Promise<void>;
}

/** Logs events that the operator should see. */
type SpoolLog = Record<"warn" | "error", (event: string, fields: Record<string, unknown>) => void>;

/** Options of {@link Spool}. */
interface SpoolOptions {
  /** The folder of the files; made when it is needed. */
  folder: string;
  /** The database that the ends belong to. Ends of another database are left alone. */
  ledgerId: string;
  store: Store;
  log: SpoolLog;
}

/** Rows of a transaction: some 100 kB. */
const endsPerBatch = 64;
const checksumLength = 16;
/** Suffix of a file that is being replayed: if its process still lives, it begins another file. */
const replayedSuffix = ".replayed";
/** Suffix of a file with unreadable lines, which is kept for the operator. */
const damagedSuffix = ".damaged";

/**
 * Stores ends of calls on the disk of this machine while the store does not take them: their answers can then be
 * returned. A process that ends before the store is back leaves a file, which the next process with this folder writes
 * to the store. The store counts each end only once, so writing an end again is harmless.
 *
 * Each process has its own file, named after the database and the process. A line is the checksum and JSON of one end;
 * it is on disk before {@link Spool.append} resolves. The last line may be torn.
 */
export class Spool implements EndSpool {
  readonly #options: SpoolOptions;
  readonly #file: string;
  /** Resolves when all earlier work on the own file is done. */
  #last: Promise<unknown> = Promise.resolve();
  /** Sizes of files of processes that may live; up to these sizes the files are in the store. */
  readonly #replayed = new Map<string, number>();
  failure: unknown;

  constructor(options: SpoolOptions) {
    const owner = options.store.nodeId ?? crypto.randomUUID();
    this.#options = options;
    this.#file = join(options.folder, `${options.ledgerId}.${owner}.ends`);
  }

  append(ends: readonly EndedCall[]): Promise<boolean> {
    return this.#enqueue(async () => {
      try {
        await this.#write(ends.map(toLine).join(""));
        this.failure = undefined;
        return true;
      } catch (error) {
        this.failure = error;
        for (const end of ends) this.#options.log.error("charge_not_kept", { ...describeEnd(end), error });
        return false;
      }
    });
  }

  clear(): Promise<void> {
    return this.#enqueue(async () => {
      this.failure = undefined;
      await rm(this.#file, { force: true }).catch((error) => this.#options.log.warn("spool_not_removed", { error }));
    });
  }

  /**
   * Writes to the store the ends left by processes that have ended, and the new ends of processes that may be alive. A
   * file is removed only once all of it was read and written.
   *
   * @returns How many ends were found.
   * @throws {Error} When a file cannot be read, or the store does not take its ends.
   */
  async replay(): Promise<number> {
    const { folder, ledgerId, store } = this.#options;
    const names = (await orMissing(readdir(folder))) ?? [];
    const isLeft = (name: string) => name.startsWith(`${ledgerId}.`) && !name.endsWith(damagedSuffix);
    const files = names.filter((name) => isLeft(name) && join(folder, name) !== this.#file);
    if (files.length === 0) return 0;
    const living = new Set((await store.db.selectFrom("nodes").select("id").execute()).map(({ id }) => id));
    let count = 0;
    for (const name of files) {
      const [, owner] = name.split(".") as [string, string];
      const isOver = name.endsWith(replayedSuffix) || !living.has(owner);
      count += await this.#replayFile(join(folder, name), isOver);
    }
    return count;
  }

  async #replayFile(file: string, isOver: boolean): Promise<number> {
    let path = file;
    if (isOver && !file.endsWith(replayedSuffix)) {
      path = `${file}.${crypto.randomUUID()}${replayedSuffix}`;
      await orMissing(rename(file, path));
    }
    const text = await orMissing(readFile(path, "utf8"));
    // Either another process has replayed the file first, or it has no new ends.
    if (text === undefined || (!isOver && this.#replayed.get(path) === text.length)) return 0;
    const { ends, damaged } = readLines(text);
    if (damaged > 0) this.#options.log.error("spool_damaged", { file: path, lines: damaged });
    for (let at = 0; at < ends.length; at += endsPerBatch) await this.#writeEnds(ends.slice(at, at + endsPerBatch));
    if (!isOver) this.#replayed.set(path, text.length);
    else {
      this.#replayed.delete(file);
      await (damaged > 0 ? rename(path, `${path}${damagedSuffix}`) : rm(path, { force: true }));
    }
    return ends.length;
  }

  /** An end that the schema refuses must not prevent the others from being written. */
  async #writeEnds(ends: readonly EndedCall[]): Promise<void> {
    const { store, log } = this.#options;
    try {
      await store.writeLedger(ends);
    } catch (error) {
      if (!isConstraintError(error)) throw error;
      const [end] = ends;
      if (ends.length === 1 && end !== undefined) log.error("charge_not_kept", { ...describeEnd(end), error });
      else for (const each of ends) await this.#writeEnds([each]);
    }
  }

  #enqueue<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#last.then(work);
    this.#last = done;
    return done;
  }

  async #write(lines: string): Promise<void> {
    for (;;) {
      await mkdir(this.#options.folder, { recursive: true, mode: 0o700 });
      const handle = await open(this.#file, "a", 0o600);
      try {
        const { size, ino } = await handle.stat();
        // A piece of a write that failed must not become the beginning of a line.
        await handle.appendFile(size === 0 ? lines : `\n${lines}`);
        await handle.sync();
        if (size === 0) await syncFolder(this.#options.folder);
        // A process that considered this one dead may have replayed the file before it had these lines.
        const now = await stat(this.#file).catch(() => undefined);
        if (now?.ino === ino) return;
      } finally {
        await handle.close();
      }
    }
  }
}

/** Undefined where the file is not there. */
async function orMissing<T>(operation: Promise<T>): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** The name of a new file is on the disk only when its folder is. Windows syncs no folders. */
async function syncFolder(folder: string): Promise<void> {
  if (platform() === "win32") return;
  const handle = await open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

function toLine(end: EndedCall): string {
  const text = JSON.stringify(end);
  return `${checksumOf(text)} ${text}\n`;
}

function checksumOf(text: string): string {
  return createHash("sha256").update(text).digest("hex").slice(0, checksumLength);
}

/**
 * Returns the ends in a file, and the number of damaged lines. The last line may be torn; nothing is lost by that,
 * because its call was not answered.
 */
function readLines(text: string): { ends: EndedCall[]; damaged: number } {
  const lines = text.split("\n");
  const ends: EndedCall[] = [];
  let damaged = 0;
  for (const [index, line] of lines.entries()) {
    if (line === "") continue;
    const json = line.slice(checksumLength + 1);
    if (line.slice(0, checksumLength) === checksumOf(json)) ends.push(JSON.parse(json) as EndedCall);
    else if (index < lines.length - 1) damaged += 1;
  }
  return { ends, damaged };
}

/** Fields of a call that an operator needs to charge it by hand. */
function describeEnd({ open: call, ...end }: EndedCall): Record<string, unknown> {
  const { callId, accountId, keyId, model, capability, premium, openedAt } = call;
  const { outcome, settledAt, meters, usageSource, chargedNanodollars, quotaTokens } = end;
  const { costNanodollars, providerCostNanodollars } = end;
  const costs = { costNanodollars, providerCostNanodollars, chargedNanodollars };
  const usage = { meters, usageSource, ...costs, quotaTokens };
  return {
    request: callId,
    account: accountId,
    key: keyId,
    model,
    capability,
    premium,
    openedAt,
    outcome,
    settledAt,
    ...usage,
  };
}
