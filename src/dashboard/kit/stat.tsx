import type { ReactNode } from "react";
import { formatChange } from "../format.ts";

/** One figure with its name and what belongs to it. */
export function Stat({
  name,
  value,
  exact,
  children,
}: {
  name: string;
  value: string | undefined;
  exact?: string | undefined;
  children: ReactNode;
}) {
  return (
    <div className="card stat">
      <span className="stat-name">{name}</span>
      {value === undefined ? (
        <span className="stat-value">
          <span className="skeleton" />
        </span>
      ) : (
        <span className={`stat-value ${toSizeClass(value)}`} title={exact}>
          {value}
        </span>
      )}
      <span className="stat-note">{children}</span>
    </div>
  );
}

/** Long values get a smaller font instead of being cut off. */
function toSizeClass({ length }: string): string {
  return length > 9 ? "is-longest" : length > 7 ? "is-long" : "";
}

/** How a figure differs from the previous period; its value in that period is shown on hover. */
export function Change({
  now,
  before,
  format,
  period = "the period before",
  when = `in ${period}`,
}: {
  now: number | null;
  before: number | null;
  format: (value: number) => string;
  period?: string;
  /** The period as an adverb. */
  when?: string;
}) {
  if (now === null || before === null) return null;
  const change = formatChange(now, before);
  return (
    <span className="change" title={`${format(before)} ${when}`}>
      {change === undefined ? `none ${when}` : `${change} vs. ${period}`}
    </span>
  );
}
