import { type ReactNode, useEffect } from "react";

/** The head of a page, and its name in the browser's tab. */
export function PageHead({ title, about, children }: { title: string; about?: ReactNode; children?: ReactNode }) {
  useEffect(() => {
    document.title = `${title} · modelgate`;
  }, [title]);
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {about !== undefined && <p>{about}</p>}
      </div>
      {children !== undefined && <div className="row">{children}</div>}
    </header>
  );
}

/** A part of a page with a heading of its own. */
export function Section({ title, actions, children }: { title: string; actions?: ReactNode; children: ReactNode }) {
  return (
    <section className="card" aria-label={title}>
      <div className="card-head is-ruled">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}
