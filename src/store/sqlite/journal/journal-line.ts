import { crc32 } from "node:zlib";
import type { BookWrite, EndWrite, OpenWrite } from "../../book-write.ts";

/** What was written to the journal by one batch. */
export interface JournalBatch {
  /** One more than that of the batch before it, over the whole life of the database. */
  readonly sequence: number;
  readonly writes: readonly BookWrite[];
}

const checksumLength = 8;

/**
 * A batch as a line: checksum, sequence number, then its writes as JSON. A line break is never within JSON, so a line
 * that has one is whole and one without was cut off: that needs no length.
 */
export function lineOf({ sequence, writes }: JournalBatch): string {
  const text = `${sequence} ${JSON.stringify(writes.map((write) => (write.kind === "open" ? openRow(write) : endRow(write))))}`;
  return `${checksumOf(text)} ${text}\n`;
}

/** The sequence number of a line, without its line break; absent when the line is not as it was written. */
export function sequenceOf(line: Buffer): number | undefined {
  const text = line.subarray(checksumLength + 1);
  if (line.toString("latin1", 0, checksumLength) !== checksumOf(text)) return undefined;
  return Number(text.toString("latin1", 0, text.indexOf(" ")));
}

/** The batch of a line whose checksum is right. */
export function batchOf(line: Buffer): JournalBatch {
  const text = line.toString("utf8", checksumLength + 1);
  const space = text.indexOf(" ");
  const rows = JSON.parse(text.slice(space + 1)) as Row[];
  return { sequence: Number(text.slice(0, space)), writes: rows.map(writeOf) };
}

function checksumOf(text: string | Buffer): string {
  return crc32(text).toString(16).padStart(checksumLength, "0");
}

type OpenRow = ReturnType<typeof openRow>;
type EndRow = ReturnType<typeof endRow>;
type Row = OpenRow | EndRow;

/** Most calls have no budget and hold all that they may cost: their lines end before it, as those of old gateways do. */
function openRow(open: OpenWrite) {
  const isPlain = open.budgetMonth === null && !open.partial;
  return isPlain ? plainRow(open) : ([...plainRow(open), open.budgetMonth, open.partial] as const);
}

function plainRow(open: OpenWrite) {
  return [
    open.callId,
    open.accountId,
    open.keyId,
    open.model,
    open.capability,
    open.premium,
    open.openedAt,
    open.quotaDay,
    open.holdNanodollars,
    open.holdTokens,
    open.priceVersion,
  ] as const;
}

/** Says its call again, so that it can be applied when the line that opened the call is gone. */
function endRow(end: EndWrite) {
  return [
    openRow(end.open),
    end.state,
    end.settledAt,
    end.meters,
    end.usageSource,
    end.costNanodollars,
    end.chargedNanodollars,
    end.quotaTokens,
    end.route,
    end.status,
    end.errorCode,
    end.firstByteMs,
    end.durationMs,
  ] as const;
}

function writeOf(row: Row): BookWrite {
  return isEnd(row) ? endOf(row) : openOf(row);
}

function isEnd(row: Row): row is EndRow {
  return typeof row[0] !== "string";
}

function openOf(row: OpenRow): OpenWrite {
  const [
    callId,
    accountId,
    keyId,
    model,
    capability,
    premium,
    openedAt,
    quotaDay,
    holdNanodollars,
    holdTokens,
    ...rest
  ] = row;
  return {
    kind: "open",
    callId,
    accountId,
    keyId,
    model,
    capability,
    premium,
    openedAt,
    quotaDay,
    holdNanodollars,
    holdTokens,
    priceVersion: rest[0],
    budgetMonth: rest[1] ?? null,
    partial: rest[2] ?? false,
  };
}

function endOf(row: EndRow): EndWrite {
  const [open, state, settledAt, meters, usageSource, cost, charged, quotaTokens, route, status, errorCode, ...times] =
    row;
  return {
    kind: "end",
    open: openOf(open),
    state,
    settledAt,
    meters,
    usageSource,
    costNanodollars: cost,
    chargedNanodollars: charged,
    quotaTokens,
    route,
    status,
    errorCode,
    firstByteMs: times[0],
    durationMs: times[1],
  };
}
