import { createContext, type ReactNode, use, useEffect, useRef } from "react";
import { Link } from "wouter";
import { formatAge, formatExactUsd, formatSecond, formatUsd, formatUsdColumn } from "../format.ts";

/** Sets the title of the browser tab. */
export function useTitle(title: string): void {
  useEffect(() => {
    document.title = `${title} · modelgate`;
  }, [title]);
}

/** The page and section of the documentation about the page that is shown, such as `billing#wallets-and-vouchers`. */
export const HelpOfPage = createContext<string | undefined>(undefined);

export function PageHead({
  title,
  description,
  children,
}: {
  title: string;
  description?: ReactNode;
  children?: ReactNode;
}) {
  useTitle(title);
  const help = use(HelpOfPage);
  return (
    <header className="page-head">
      <div>
        <h1>{title}</h1>
        {(description !== undefined || help !== undefined) && (
          <p>
            {description}
            {help !== undefined && (
              <>
                {" "}
                <Link className="link" href={`/help/${help}`}>
                  Help
                </Link>
              </>
            )}
          </p>
        )}
      </div>
      {children !== undefined && <div className="row">{children}</div>}
    </header>
  );
}

/** An address that ends with `#id` scrolls to the section. */
export function Section({
  id,
  title,
  actions,
  children,
}: {
  id?: string;
  title: string;
  actions?: ReactNode;
  children: ReactNode;
}) {
  const element = useRef<HTMLElement>(null);
  useEffect(() => {
    if (id !== undefined && location.hash === `#${id}`) element.current?.scrollIntoView();
  }, [id]);
  return (
    <section ref={element} id={id} className="card" aria-label={title}>
      <div className="card-head is-ruled">
        <h2>{title}</h2>
        {actions}
      </div>
      {children}
    </section>
  );
}

/** An entry of a list of facts, a `dl`; nothing where the fact is not known. */
export function Fact({ name, className, children }: { name: ReactNode; className?: string; children: ReactNode }) {
  if (children === undefined || children === null || children === false || children === "") return null;
  return (
    <>
      <dt>{name}</dt>
      <dd className={className}>{children}</dd>
    </>
  );
}

/** A rounded amount, with the exact one on hover; `isAligned` for a column of amounts. */
export function Usd({ value, isAligned = false }: { value: string; isAligned?: boolean }) {
  return <span title={formatExactUsd(value)}>{isAligned ? formatUsdColumn(value) : formatUsd(value)}</span>;
}

/** How long ago a moment was, with the exact one on hover. */
export function Age({ at }: { at: string }) {
  return (
    <time dateTime={at} title={formatSecond(at)}>
      {formatAge(at)}
    </time>
  );
}
