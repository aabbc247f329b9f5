import type { ReactNode } from "react";

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
        <button type="button" className="btn btn-small" disabled={onBack === undefined} onClick={onBack}>
          {back}
        </button>
        <button type="button" className="btn btn-small" disabled={onNext === undefined} onClick={onNext}>
          {next}
        </button>
      </div>
    </nav>
  );
}
