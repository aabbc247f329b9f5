/** To the pages before and after; nothing where there is one alone. */
export function Pager({ page, pages, onPage }: { page: number; pages: number; onPage: (page: number) => void }) {
  if (pages <= 1) return null;
  return (
    <nav className="table-foot" aria-label="Pages of the list">
      <span>
        Page {page} of {pages}
      </span>
      <div className="row">
        <button type="button" className="btn btn-small" disabled={page <= 1} onClick={() => onPage(page - 1)}>
          Newer
        </button>
        <button type="button" className="btn btn-small" disabled={page >= pages} onClick={() => onPage(page + 1)}>
          Older
        </button>
      </div>
    </nav>
  );
}
