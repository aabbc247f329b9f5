import type { ReactNode } from "react";
import { messageOf } from "../data/api.ts";
import { Icon, type IconName } from "./icon.tsx";

/** In the place of a list that has nothing in it: what it is for and how to begin. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <span className="empty-mark">
        <Icon name={icon} size={20} />
      </span>
      <h3>{title}</h3>
      {children}
    </div>
  );
}

/** In the place of what could not be had. */
export function Failed({ error, again }: { error: unknown; again: () => unknown }) {
  return (
    <div className="empty" role="alert">
      <span className="empty-mark is-bad">
        <Icon name="alert" size={20} />
      </span>
      <h3>This could not be loaded</h3>
      <p>{messageOf(error)}</p>
      <div className="row">
        <button type="button" className="btn" onClick={() => again()}>
          <Icon name="refresh" size={15} />
          Try again
        </button>
      </div>
    </div>
  );
}

/** Lines in the place of what is on its way. */
export function Skeleton({ lines = 4 }: { lines?: number }) {
  const widths = ["92%", "78%", "86%", "64%", "81%", "70%"];
  return (
    <div className="stack card-body" role="status" aria-label="Loading">
      {Array.from({ length: lines }, (_, line) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: the lines are all alike
        <span key={line} className="skeleton" style={{ width: widths[line % widths.length] }} />
      ))}
    </div>
  );
}

/** The three states of what is asked for: on its way, failed, there. What is there stays when a refresh fails. */
export function Loaded<T>({
  state: { data, error, mutate },
  lines,
  children,
}: {
  state: { data?: T | undefined; error?: unknown; mutate: () => unknown };
  lines?: number;
  children: (data: T) => ReactNode;
}) {
  if (data !== undefined) return children(data);
  if (error !== undefined) return <Failed error={error} again={mutate} />;
  return <Skeleton {...(lines !== undefined && { lines })} />;
}
