import { type ReactNode, useState } from "react";
import { formatCount } from "../format.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";
import { Usd } from "./page.tsx";
import { setParams, useUrlParams } from "./url-state.ts";

export interface Column<Row> {
  readonly name: string;
  /**
   * The classes of its cells: `end` for numbers, `lead` for what names the row; `wide-only` is left out of cards,
   * `roomy-only` of narrow tables too.
   */
  readonly className?: string;
  /** Whether only screen readers get the heading. */
  readonly isUnnamed?: boolean;
  readonly cell: (row: Row) => ReactNode;
  /** The value to sort by; absent: the table cannot be sorted by this column. Rows without a value are last. */
  readonly sort?: (row: Row) => string | number | null | undefined;
}

/** The last column, with the buttons that act on a row. */
export function actionsColumn<Row>(cell: (row: Row) => ReactNode): Column<Row> {
  return { name: "Actions", className: "actions tight end", isUnnamed: true, cell };
}

/** A column of figures to sort by. `none` is shown in place of an absent figure. */
export function figureColumn<Row>(
  name: string,
  read: (row: Row) => number | null,
  format: (figure: number) => string = formatCount,
  none: ReactNode = "–",
): Column<Row> {
  const cell = (row: Row) => {
    const figure = read(row);
    return figure === null ? none : format(figure);
  };
  return { name, className: "end", sort: read, cell };
}

/** A column of dollars to sort by. */
export function usdColumn<Row>(name: string, read: (row: Row) => string, isAligned = false): Column<Row> {
  const cell = (row: Row) => <Usd value={read(row)} isAligned={isAligned} />;
  return { name, className: "end", sort: (row) => Number(read(row)), cell };
}

/** A column of a CSV file. */
export type FileColumn<Row> = Pick<Column<Row>, "name" | "sort">;

/**
 * A table; unless `isPlain`, each row becomes a card where the table is narrow. `empty` is shown instead of no rows, and
 * rows after the first `shownMax` on demand. The chosen order is in the address, as `sortName`.
 */
export function Table<Row>({
  columns,
  rows,
  rowKey,
  isPlain = false,
  empty,
  shownMax = Number.POSITIVE_INFINITY,
  sortName = "sort",
  fileName,
  fileColumns = [],
  totals,
}: {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  isPlain?: boolean;
  empty?: ReactNode;
  shownMax?: number;
  sortName?: string;
  /** Offers the rows as a CSV file of this name, with the columns that have a value to sort by. */
  fileName?: string | undefined;
  /** Columns that only the file has, behind the others. */
  fileColumns?: readonly FileColumn<Row>[];
  /** A last row, by the order of the columns; the file does not have it. */
  totals?: readonly ReactNode[] | undefined;
}) {
  const sort = useUrlParams().get(sortName) ?? "";
  const [isWhole, setWhole] = useState(false);
  const sorted = columns.find((column) => column.sort !== undefined && toWord(column) === sort.replace(/^-/, ""));
  const isDown = sort.startsWith("-");
  if (rows.length === 0 && empty !== undefined) return empty;
  const inOrder = sorted === undefined ? rows : sortRows(rows, sorted, isDown);
  return (
    <>
      <div className="table-wrap">
        <table className={isPlain ? "table" : "table is-cards"}>
          <thead>
            <tr>
              {columns.map((column) => (
                <HeadCell
                  key={column.name}
                  column={column}
                  order={column !== sorted ? undefined : isDown ? "descending" : "ascending"}
                  onSort={(next) => setParams({ [sortName]: next })}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {(isWhole ? inOrder : inOrder.slice(0, shownMax)).map((row) => (
              <tr key={rowKey(row)}>
                {columns.map(({ name, className, isUnnamed, cell }) => (
                  <td key={name} className={className} data-name={isUnnamed ? undefined : name}>
                    {cell(row)}
                  </td>
                ))}
              </tr>
            ))}
          </tbody>
          {totals !== undefined && (
            <tfoot>
              <tr>
                {columns.map(({ name, className }, place) => (
                  <td key={name} className={className} data-name={name}>
                    {totals[place]}
                  </td>
                ))}
              </tr>
            </tfoot>
          )}
        </table>
      </div>
      {((!isWhole && rows.length > shownMax) || fileName !== undefined) && (
        <div className="table-foot">
          <span>{!isWhole && rows.length > shownMax && `The first ${shownMax}`}</span>
          <div className="row">
            {!isWhole && rows.length > shownMax && (
              <Button look="small" onClick={() => setWhole(true)}>
                Show all {rows.length}
              </Button>
            )}
            {fileName !== undefined && (
              <Button
                look="small"
                icon="download"
                onClick={() => saveCsv(fileName, [...columns, ...fileColumns], inOrder)}
              >
                CSV
              </Button>
            )}
          </div>
        </div>
      )}
    </>
  );
}

/** A click sorts upwards, the next downwards, and the third restores the order of the list. */
function HeadCell<Row>({
  column,
  order,
  onSort,
}: {
  column: Column<Row>;
  order: "ascending" | "descending" | undefined;
  onSort: (sort: string) => void;
}) {
  const { name, className, isUnnamed, sort } = column;
  const classes = ["end", "has-long-name", "wide-only", "roomy-only"].filter((each) =>
    className?.split(" ").includes(each),
  );
  const next = order === undefined ? toWord(column) : order === "ascending" ? `-${toWord(column)}` : "";
  return (
    <th scope="col" className={classes.join(" ") || undefined} aria-sort={order}>
      {sort !== undefined ? (
        <button type="button" className="sort" onClick={() => onSort(next)}>
          {name}
          {order !== undefined && <Icon name={order === "ascending" ? "up" : "down"} size={12} />}
        </button>
      ) : isUnnamed ? (
        <span className="unseen">{name}</span>
      ) : (
        name
      )}
    </th>
  );
}

/** Saves rows as a file. Text is quoted, and escaped where a spreadsheet would read a formula, as in files of the gateway. */
function saveCsv<Row>(fileName: string, columns: readonly FileColumn<Row>[], rows: readonly Row[]): void {
  const shown = columns.filter(({ sort }) => sort !== undefined);
  const toCell = (value: string | number | null | undefined) => {
    if (value === null || value === undefined) return "";
    if (typeof value === "number") return String(value);
    const isFormula = /^[=+\-@\t\r\n＝＋－＠]/.test(value) && !/^-\d+(\.\d+)?$/.test(value);
    return `"${(isFormula ? `'${value}` : value).replaceAll('"', '""')}"`;
  };
  const lines = [
    shown.map(({ name }) => toCell(name)),
    ...rows.map((row) => shown.map(({ sort }) => toCell(sort?.(row)))),
  ];
  const link = document.createElement("a");
  link.href = URL.createObjectURL(
    new Blob([lines.map((cells) => `${cells.join(",")}\r\n`).join("")], { type: "text/csv" }),
  );
  link.download = `modelgate-${fileName}.csv`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), revokeMs);
}

/** The browser has read the file by then. */
const revokeMs = 10_000;

function toWord({ name }: Pick<Column<never>, "name">): string {
  return name.toLowerCase().replaceAll(" ", "-");
}

function sortRows<Row>(rows: readonly Row[], { sort }: Column<Row>, isDown: boolean): readonly Row[] {
  return rows.toSorted((one, other) => {
    const [a, b] = [sort?.(one) ?? null, sort?.(other) ?? null];
    if (a === null || b === null) return Number(a === null) - Number(b === null);
    const order = typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b));
    return isDown ? -order : order;
  });
}

/** Buttons to the neighbouring pages of a list; nothing if there is only one page. */
export function Pager({
  labels: [back, next] = ["Previous", "Next"],
  page,
  hasMore,
  toPage,
  children,
}: {
  labels?: readonly [string, string];
  /** From 1. */
  page: number;
  hasMore: boolean;
  toPage: (page: number) => void;
  children?: ReactNode;
}) {
  if (page === 1 && !hasMore) return null;
  return (
    <nav className="table-foot" aria-label="Pagination">
      {children}
      <div className="row">
        <Button look="small" disabled={page === 1} onClick={() => toPage(page - 1)}>
          {back}
        </Button>
        <Button look="small" disabled={!hasMore} onClick={() => toPage(page + 1)}>
          {next}
        </Button>
      </div>
    </nav>
  );
}
