import type { ReactNode } from "react";
import { formatCount } from "../format.ts";
import { Section } from "./page.tsx";

/** A card with a short list, and the page that has more of it. */
export function ItemList<Row>({
  title,
  rows,
  count = rows.length,
  more,
  empty,
  children,
}: {
  title: string;
  rows: readonly Row[];
  /** How many there are, where the list has only some. */
  count?: number;
  /** The link to the page. */
  more?: ReactNode;
  /** The text in place of no rows. */
  empty: string;
  /** An `li` for each row. */
  children: (row: Row) => ReactNode;
}) {
  return (
    <Section title={title} actions={more}>
      {rows.length === 0 ? (
        <p className="card-body faint">{empty}</p>
      ) : (
        <ul className="items">
          {rows.map(children)}
          {count > rows.length && <li className="faint">and {formatCount(count - rows.length)} more</li>}
        </ul>
      )}
    </Section>
  );
}
