import { type ReactNode, useEffect } from "react";

/** The header of a page; also sets the title of the browser tab. */
export function PageHead({
  title,
  description,
  children,
}: {
  title: string;
  description?: ReactNode;
  children?: ReactNode;
}) {
  useEffect(() => {
    document.title = `${title} · modelgate`;
  }, [title]);
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {description !== undefined && <p>{description}</p>}
      </div>
      {children !== undefined && <div className="row">{children}</div>}
    </header>
  );
}

/** A card with a heading. */
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
