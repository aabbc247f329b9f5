import { type LogCursor, type LoggedRequest, type RequestFilter, readRequests } from "../../billing/index.ts";
import type { Store } from "../../db/index.ts";
import { toCsvText } from "./csv.ts";
import { toRequestJson } from "./request-json.ts";

export type RequestFormat = "csv" | "jsonl";

/** Rows of one download; the time filter leads to the others. */
const rowsMax = 100_000;
const pageRows = 500;
const types = { csv: "text/csv; charset=utf-8", jsonl: "application/jsonl; charset=utf-8" };

const columns = [
  ...[
    "id",
    "at",
    "account",
    "key_id",
    "state",
    "status",
    "error_code",
    "endpoint",
    "model",
    "capability",
    "protocol",
    "route",
  ],
  ...["session", "tag", "client_request_id", "requests", "input_tokens", "cache_read_tokens", "cache_write_tokens"],
  ...["cache_write_1h_tokens", "output_tokens", "usage_source", "quota_tokens", "cost_usd", "charged_usd"],
  ...["first_byte_ms", "duration_ms"],
] as const;

/** A file of the newest requests that fit the filter, read page by page while the client takes it. */
export function streamRequests(store: Store, filter: RequestFilter, format: RequestFormat): Response {
  const pages = readPages(store, filter);
  const encoder = new TextEncoder();
  const toLine = format === "csv" ? toCsvLine : toJsonLine;
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      if (format === "csv") controller.enqueue(encoder.encode(`${columns.join(",")}\r\n`));
    },
    async pull(controller) {
      // A pull that brings nothing is not repeated.
      let page = await pages.next();
      while (!page.done && page.value.length === 0) page = await pages.next();
      if (page.done) controller.close();
      else controller.enqueue(encoder.encode(page.value.map(toLine).join("")));
    },
    async cancel() {
      await pages.return(undefined);
    },
  });
  const headers = {
    "content-type": types[format],
    "content-disposition": `attachment; filename="modelgate-requests.${format}"`,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return new Response(body, { headers });
}

/** A page may be empty, where a search goes on. */
async function* readPages(store: Store, filter: RequestFilter): AsyncGenerator<readonly LoggedRequest[], undefined> {
  let before: LogCursor | undefined;
  let rows = 0;
  do {
    const page = await readRequests(store, filter, { limit: Math.min(pageRows, rowsMax - rows), before });
    rows += page.requests.length;
    before = page.next;
    yield page.requests;
    // Lets others have the database and the event loop.
    await new Promise((resolve) => setTimeout(resolve, 1));
  } while (before !== undefined && rows < rowsMax);
  return undefined;
}

function toJsonLine(request: LoggedRequest): string {
  return `${JSON.stringify(toRequestJson(request))}\n`;
}

function toCsvLine(request: LoggedRequest): string {
  const json = toRequestJson(request) as Record<string, unknown>;
  const cells = columns.map((column) => {
    const value = json[column];
    if (value === null || value === undefined) return "";
    return typeof value === "string" ? toCsvText(value) : String(value);
  });
  return `${cells.join(",")}\r\n`;
}
