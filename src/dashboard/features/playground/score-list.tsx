export interface Score {
  /** Unique within its list. */
  readonly key: string | number;
  readonly name: string;
  readonly score: number;
  /** Set off from the others, with a word that says why, such as `flagged`. */
  readonly mark?: { readonly text: string; readonly tone: "bad" | "good" };
}

/** Names with their scores, each with a bar, in the given order. */
export function ScoreList({
  label,
  scores,
  isRanked = false,
}: {
  label: string;
  scores: readonly Score[];
  /** Whether the place in the list counts, and is shown. */
  isRanked?: boolean;
}) {
  const List = isRanked ? "ol" : "ul";
  // Some rerank models score beyond 1.
  const top = Math.max(1, ...scores.map(({ score }) => score));
  return (
    <List className={isRanked ? "scores is-ranked" : "scores"} aria-label={label}>
      {scores.map(({ key, name, score, mark }) => (
        <li key={key} className={mark === undefined ? undefined : `is-${mark.tone}`}>
          <span className="score-name">
            {name} {mark !== undefined && <span className="badge">{mark.text}</span>}
          </span>
          <span className="score-value">{formatScore(score)}</span>
          <span className="score-bar" aria-hidden="true">
            <span style={{ width: `${Math.max(0, score / top) * 100}%` }} />
          </span>
        </li>
      ))}
    </List>
  );
}

/** Three decimals; what is too small for them is not shown as nothing. */
export function formatScore(score: number): string {
  return score > 0 && score < 0.0005 ? "<0.001" : score.toFixed(3);
}
