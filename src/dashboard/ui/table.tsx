import type { ReactNode } from "react";

/** A name, or a name with its style: `end` for numbers, `unseen` for a heading only screen readers get. */
type Column = string | readonly [name: string, style: "end" | "unseen"];

/** A table; with `isCards` each row becomes a card on a phone. The children are its rows. */
export function Table({
  columns,
  isCards = true,
  children,
}: {
  columns: readonly Column[];
  isCards?: boolean;
  children: ReactNode;
}) {
  return (
    <div className="table-wrap">
      <table className={isCards ? "table is-cards" : "table"}>
        <thead>
          <tr>
            {columns.map((column) => {
              const [name, style] = typeof column === "string" ? [column] : column;
              return (
                <th key={name} scope="col" className={style === "end" ? "end" : undefined}>
                  {style === "unseen" ? <span className="unseen">{name}</span> : name}
                </th>
              );
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
      </table>
    </div>
  );
}
