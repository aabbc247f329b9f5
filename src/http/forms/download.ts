export type DownloadFormat = "csv" | "jsonl";

interface Download<Row, Cursor> {
  /** The file is called `modelgate-<name>`. */
  readonly name: string;
  readonly format: DownloadFormat;
  /** Columns of the CSV: members of what `toJson` returns. */
  readonly columns: readonly string[];
  readonly toJson: (row: Row) => object;
  /** One page; it may be empty, where a search goes on. */
  readonly readPage: (page: Page<Cursor>) => Promise<{ rows: readonly Row[]; next?: Cursor | undefined }>;
}

export interface Page<Cursor> {
  readonly limit: number;
  readonly before: Cursor | undefined;
}

/** Rows of one download; the time filter leads to the others. */
const rowsMax = 100_000;
const pageRows = 500;
const types = { csv: "text/csv; charset=utf-8", jsonl: "application/jsonl; charset=utf-8" };

/** A file of the newest rows that fit, read page by page while the client takes it. */
export function streamDownload<Row, Cursor>(download: Download<Row, Cursor>): Response {
  const { name, format, columns, toJson } = download;
  const pages = readPages(download);
  const encoder = new TextEncoder();
  const toLine = (row: Row) =>
    format === "csv" ? toCsvLine(toJson(row), columns) : `${JSON.stringify(toJson(row))}\n`;
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
    "content-disposition": `attachment; filename="modelgate-${name}.${format}"`,
    "cache-control": "no-store",
    "x-content-type-options": "nosniff",
  };
  return new Response(body, { headers });
}

async function* readPages<Row, Cursor>({ readPage }: Download<Row, Cursor>): AsyncGenerator<readonly Row[], undefined> {
  let before: Cursor | undefined;
  let count = 0;
  do {
    const { rows, next } = await readPage({ limit: Math.min(pageRows, rowsMax - count), before });
    count += rows.length;
    before = next;
    yield rows;
    // Lets others have the database and the event loop.
    await new Promise((resolve) => setTimeout(resolve, 1));
  } while (before !== undefined && count < rowsMax);
  return undefined;
}

/** A row as a line of CSV; an absent value is an empty cell. */
export function toCsvLine(row: object, columns: readonly string[]): string {
  const cells = columns.map((column) => {
    const value = (row as Record<string, unknown>)[column];
    if (value === null || value === undefined) return "";
    return typeof value === "string"
      ? toCsvText(value)
      : typeof value === "object"
        ? toCsvText(JSON.stringify(value))
        : String(value);
  });
  return `${cells.join(",")}\r\n`;
}

/** Text in CSV: quoted, and escaped where a spreadsheet would read a formula. A negative number is no formula. */
export function toCsvText(text: string | null): string {
  if (text === null) return "";
  const isFormula = /^[=+\-@\t\r\n＝＋－＠]/.test(text) && !/^-\d+(\.\d+)?$/.test(text);
  const harmless = isFormula ? `'${text}` : text;
  return `"${harmless.replaceAll('"', '""')}"`;
}
