import { usageColumns } from "../../contract/index.ts";
import { readLastSeq } from "../../db/index.ts";
import { parseJson } from "../../lib/json.ts";
import { exportEnds, type WrittenCall } from "../../reports/index.ts";
import { defineCommand, UsageError } from "../command.ts";
import { toFields, toJson } from "../export/call-rows.ts";
import { type Destination, openDestination } from "../export/destination.bun.ts";
import { withStore } from "../lib/with-store.ts";

/** Calls of one file: 30 to 50 MB as JSON lines. */
const callsPerFile = 100_000;
const cursorFile = "cursor.json";

const formats = ["jsonl", "parquet"] as const;
type Format = (typeof formats)[number];

/** How far an export has come: all calls up to `seq` are written, and those up to `until` are being written. */
interface Cursor {
  readonly seq: number;
  readonly until?: number | undefined;
}

export const exportCallsCommand = defineCommand({
  name: "export calls",
  description: "Export the calls that ended since the last export to files in a folder or bucket",
  flags: {
    format: { value: formats.join("|"), description: "Format of the files (default: jsonl)", choices: formats },
  },
  args: ["TARGET"],
  example: "export calls s3://bucket/modelgate --format parquet",
  async run(context, { args, flags, config }) {
    const format = parseFormat(flags.format);
    const destination = openDestination(args.TARGET, context.env);
    const files = await withStore(config, async ({ store }) => {
      const written: { name: string; calls: number }[] = [];
      let cursor = await readCursor(destination);
      while (true) {
        // An interrupted range is written again with the same bounds, so no call ends up in two files.
        const last = cursor.until ?? (await readLastSeq(store));
        if (last === undefined || last <= cursor.seq) return written;
        const until = cursor.until ?? Math.min(last, cursor.seq + callsPerFile);
        await writeCursor(destination, { seq: cursor.seq, until });
        const calls: WrittenCall[] = [];
        for await (const page of exportEnds(store, { after: cursor.seq, until })) calls.push(...page);
        if (calls.length > 0) {
          const name = `calls-${toPlace(cursor.seq + 1)}-${toPlace(until)}.${format}`;
          await destination.write(name, await formatCalls(calls, format));
          written.push({ name, calls: calls.length });
        }
        cursor = { seq: until };
        await writeCursor(destination, cursor);
      }
    });
    const text = files.map(({ name, calls }) => `${name}  ${calls} calls`).join("\n");
    return { json: { files }, text: files.length === 0 ? "There are no new calls" : text };
  },
});

function parseFormat(text: string | undefined): Format {
  const format = text === undefined ? "jsonl" : formats.find((name) => name === text);
  if (format !== undefined) return format;
  throw new UsageError(`Cannot write --format ${text}, expected jsonl or parquet`);
}

async function readCursor(destination: Destination): Promise<Cursor> {
  const text = await destination.read(cursorFile);
  if (text === undefined) return { seq: 0 };
  const { seq, until } = parseJson(text, "file") as Partial<Cursor>;
  const isPlace = (value: unknown) => Number.isSafeInteger(value) && (value as number) >= 0;
  if (isPlace(seq) && (until === undefined || isPlace(until))) return { seq: seq as number, until };
  throw new UsageError(`${cursorFile} there is not the cursor of an export; remove it to start again`);
}

function writeCursor(destination: Destination, cursor: Cursor): Promise<void> {
  return destination.write(cursorFile, `${JSON.stringify(cursor)}\n`);
}

/** Pads the number, so file names sort in the order of the calls. */
function toPlace(seq: number): string {
  return String(seq).padStart(12, "0");
}

/** A call with its place in the order of ends, and what its client calls it. */
function toRow(call: WrittenCall) {
  const { usage, ...fields } = toJson(call);
  return { seq: call.seq, ...fields, tag: call.tag, client_request_id: call.client_request_id, usage };
}

async function formatCalls(calls: readonly WrittenCall[], format: Format): Promise<string | Uint8Array<ArrayBuffer>> {
  if (format === "jsonl") return `${calls.map((call) => JSON.stringify(toRow(call))).join("\n")}\n`;
  const { parquetWriteBuffer } = await import("hyparquet-writer");
  const whole = (name: keyof WrittenCall) => ({
    name,
    type: "INT64" as const,
    data: calls.map((call) => (typeof call[name] === "number" ? BigInt(call[name]) : null)),
  });
  const texts = calls.map((call) => ({ ...toFields(call), tag: call.tag, client_request_id: call.client_request_id }));
  const text = (name: keyof (typeof texts)[number]) => ({
    name,
    type: "STRING" as const,
    data: texts.map((row) => (row[name] === null || row[name] === undefined ? null : String(row[name]))),
  });
  const time = (name: "opened_at" | "settled_at", title: string) => ({
    name: title,
    type: "TIMESTAMP" as const,
    data: calls.map((call) => new Date(call[name])),
  });
  const columnData = [
    whole("seq"),
    ...(["id", "account", "key", "model", "capability"] as const).map(text),
    { name: "premium", type: "BOOLEAN" as const, data: texts.map(({ premium }) => premium) },
    ...(["plugin", "state", "usage_source"] as const).map(text),
    ...(["cost_nanodollars", "provider_cost_nanodollars", "charged_nanodollars", "quota_tokens"] as const).map(whole),
    whole("markup_basis_points"),
    ...(
      [
        "price_version",
        "provider_price_version",
        "session",
        "agent",
        "parent_agent",
        "tag",
        "client_request_id",
      ] as const
    ).map(text),
    whole("status"),
    text("error_code"),
    time("opened_at", "opened_at"),
    time("settled_at", "ended_at"),
    whole("first_byte_ms"),
    whole("duration_ms"),
    whole("cache_saved_nanodollars"),
    ...(["cache_miss", "cache_miss_place"] as const).map(text),
    ...(["cache_missed_tokens", "cache_lost_nanodollars"] as const).map(whole),
    ...usageColumns.map((name) => whole(name)),
  ];
  return new Uint8Array(parquetWriteBuffer({ columnData }));
}
