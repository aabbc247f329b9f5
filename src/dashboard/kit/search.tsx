import { useEffect } from "react";
import { formatCount, formatMoment } from "../format.ts";
import { Button } from "./button.tsx";
import { Icon } from "./icon.tsx";

/** Searches that go on by themselves while they find nothing. */
const emptySearchesMax = 20;

interface LoadMoreProps {
  /** One of what is searched, and several. */
  nouns: readonly [string, string];
  pages: readonly { data: readonly unknown[]; next: { before: string | null } | null }[];
  isLoading: boolean;
  onMore: () => void;
}

/** How far a log was searched, and the button that goes on; nothing at the end of the log. */
export function LoadMore({ nouns: [one, several], pages, isLoading, onMore }: LoadMoreProps) {
  const count = pages.reduce((sum, { data }) => sum + data.length, 0);
  const next = pages.at(-1)?.next ?? null;
  const goesOn = count === 0 && next !== null && pages.length < emptySearchesMax;
  // biome-ignore lint/correctness/useExhaustiveDependencies: once for each page that was loaded
  useEffect(() => {
    if (goesOn) onMore();
  }, [goesOn, pages.length]);
  if (next === null) return null;
  return (
    <div className="table-foot">
      <span role="status">
        {formatCount(count)} {count === 1 ? one : several}, searched back to {formatMoment(next.before)}
      </span>
      <Button look="small" disabled={isLoading || goesOn} onClick={onMore}>
        {isLoading || goesOn ? "Searching…" : "Search further back"}
      </Button>
    </div>
  );
}

const formats = ["csv", "jsonl"] as const;

/** Links to a log as a file. */
export function DownloadLinks({ toAddress }: { toAddress: (format: (typeof formats)[number]) => string }) {
  return formats.map((format) => (
    <a key={format} className="btn" href={toAddress(format)} download>
      <Icon name="download" size={15} />
      {format.toUpperCase()}
    </a>
  ));
}
