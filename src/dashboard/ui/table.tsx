import type { ReactNode } from "react";
import { Button } from "./button.tsx";

export interface Column<Row> {
  readonly name: string;
  /** The classes of its cells: `end` for numbers, `lead` for what names the row. */
  readonly className?: string;
  /** Whether only screen readers get the heading. */
  readonly isUnnamed?: boolean;
  readonly cell: (row: Row) => ReactNode;
}

/** A table; unless `isPlain`, each row becomes a card on a phone. `empty` is shown instead of no rows. */
export function Table<Row>({
  columns,
  rows,
  rowKey,
  isPlain = false,
  empty,
}: {
  columns: readonly Column<Row>[];
  rows: readonly Row[];
  rowKey: (row: Row) => string;
  isPlain?: boolean;
  empty?: ReactNode;
}) {
  if (rows.length === 0 && empty !== undefined) return empty;
  return (
    <div className="table-wrap">
      <table className={isPlain ? "table" : "table is-cards"}>
        <thead>
          <tr>
            {columns.map(({ name, className, isUnnamed }) => (
              <th key={name} scope="col" className={className?.includes("end") ? "end" : undefined}>
                {isUnnamed ? <span className="unseen">{name}</span> : name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr key={rowKey(row)}>
              {columns.map(({ name, className, isUnnamed, cell }) => (
                <td key={name} className={className} data-name={isUnnamed ? undefined : name}>
                  {cell(row)}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Buttons to the neighbouring pages of a list; nothing if there is only one page. */
export function Pager({
  labels: [back, next] = ["Newer", "Older"],
  onBack,
  onNext,
  children,
}: {
  labels?: readonly [string, string];
  /** Absent on the first page. */
  onBack: (() => void) | undefined;
  /** Absent on the last page. */
  onNext: (() => void) | undefined;
  children?: ReactNode;
}) {
  if (onBack === undefined && onNext === undefined) return null;
  return (
    <nav className="table-foot" aria-label="Pagination">
      {children}
      <div className="row">
        <Button look="small" disabled={onBack === undefined} onClick={onBack}>
          {back}
        </Button>
        <Button look="small" disabled={onNext === undefined} onClick={onNext}>
          {next}
        </Button>
      </div>
    </nav>
  );
}
