import type { ReactNode } from "react";
import { toMessage, UnreachableError } from "../data/api.ts";
import { Button } from "./button.tsx";
import { Icon, type IconName } from "./icon.tsx";

type Tone = "plain" | "good" | "bad" | "warn";

/** A highlighted message; renders nothing without children. */
export function Callout({ tone = "plain", children }: { tone?: Tone; children: ReactNode }) {
  if (children === undefined) return null;
  const icon = tone === "good" ? "check" : tone === "plain" ? "info" : "alert";
  return (
    <div className={tone === "plain" ? "callout" : `callout is-${tone}`} role={tone === "bad" ? "alert" : undefined}>
      <Icon name={icon} size={17} />
      <div>{children}</div>
    </div>
  );
}

/** The empty state of a list: what belongs here and how to start. */
export function Empty({ icon, title, children }: { icon: IconName; title: string; children?: ReactNode }) {
  return (
    <div className="empty">
      <span className="empty-mark">
        <Icon name={icon} size={20} />
      </span>
      <h2 className="empty-title">{title}</h2>
      {children}
    </div>
  );
}

/** Shown instead of data that failed to load; SWR retries by itself. */
export function LoadError({ error, onRetry }: { error: unknown; onRetry: () => unknown }) {
  return (
    <div className="empty" role="alert">
      <span className="empty-mark is-bad">
        <Icon name="alert" size={20} />
      </span>
      <h2 className="empty-title">
        {error instanceof UnreachableError ? "The gateway can't be reached. Retrying…" : "Failed to load"}
      </h2>
      {!(error instanceof UnreachableError) && <p>{toMessage(error)}</p>}
      <div className="row">
        <Button icon="refresh" onClick={() => onRetry()}>
          Try again
        </Button>
      </div>
    </div>
  );
}

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

/** Renders data, its loading state or its error. Data that was loaded once stays when a refresh fails. */
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
  if (error !== undefined) return <LoadError error={error} onRetry={mutate} />;
  return <Skeleton {...(lines !== undefined && { lines })} />;
}
