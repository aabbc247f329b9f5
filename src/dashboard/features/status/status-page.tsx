import { formatMoment, formatShare } from "../../format.ts";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { useModelNames } from "../models/api.ts";
import { type StatusRow, useStatus } from "../providers/api.ts";
import { describePause, HealthState, Strip } from "../providers/health.tsx";

const modelsMax = 12;

/** How the providers are, for everybody. */
export default function StatusPage() {
  const status = useStatus();
  return (
    <>
      <PageHead title="Status" description="How calls of the last 24 hours went, by provider." />
      <Loaded state={status} lines={6}>
        {({ data }) => (
          <div className="stack">
            {data.length > 0 && <Callout tone={toTone(data)}>{summarize(data)}</Callout>}
            <Section title="Providers">
              {data.length === 0 ? (
                <Empty icon="check" title="No providers yet">
                  <p>All answers are simulated, or an administrator has not added a provider yet.</p>
                </Empty>
              ) : (
                <ul>
                  {data.map((row) => (
                    <ProviderRow key={row.provider} row={row} />
                  ))}
                </ul>
              )}
            </Section>
          </div>
        )}
      </Loaded>
    </>
  );
}

function ProviderRow({ row }: { row: StatusRow }) {
  const { provider, state, since, strip, models, failed_share: share } = row;
  const pause = { until: row.paused_until, isWaiting: row.waiting };
  const nameOf = useModelNames();
  const shown = models.slice(0, modelsMax).map(nameOf).join(", ");
  const rest = models.length - modelsMax;
  return (
    <li className="status-row">
      <div>
        <strong>{provider}</strong> <HealthState state={state} pause={pause} />
        <span className="sub">{describePause(pause)}</span>
        {since !== null && <span className="sub">since {formatMoment(since)}</span>}
        {state === "degraded" && !row.waiting && share !== null && share > 0 && (
          <span className="sub">{formatShare(share)} of the latest calls failed</span>
        )}
        {models.length > 0 && (
          <span className="sub break">
            Not available: {shown}
            {rest > 0 && ` and ${rest} more`}
          </span>
        )}
      </div>
      <Strip strip={strip} />
    </li>
  );
}

function toTone(data: readonly StatusRow[]): "good" | "warn" | "bad" | "plain" {
  if (data.length === 0) return "plain";
  if (data.some(({ state, waiting }) => state === "failing" && !waiting)) return "bad";
  return data.some(({ state }) => state === "degraded" || state === "failing") ? "warn" : "good";
}

function summarize(data: readonly StatusRow[]): string {
  const namesOf = (matches: (row: StatusRow) => boolean) => data.filter(matches).map(({ provider }) => provider);
  const failing = namesOf(({ state, waiting }) => state === "failing" && !waiting);
  const degraded = data.filter(({ state, waiting }) => state === "degraded" && !waiting);
  const fails = (row: StatusRow) => (row.failed_share ?? 0) > 0 || row.paused_until !== null;
  const inPart = degraded.filter(fails).map(({ provider }) => provider);
  const reduced = degraded.filter((row) => !fails(row)).map(({ provider }) => provider);
  const waiting = namesOf((row) => row.waiting && row.state !== "working" && row.state !== "unknown");
  const sentences = [
    failing.length > 0 &&
      `${failing.join(", ")} ${failing.length === 1 ? "is" : "are"} failing. Models of other providers work.`,
    inPart.length > 0 && `Some calls to ${inPart.join(", ")} fail.`,
    reduced.length > 0 && `${reduced.join(", ")} ${reduced.length === 1 ? "works" : "work"} with less than usual.`,
    waiting.length > 0 && `The next call tries ${waiting.join(", ")} again after failures.`,
  ].filter((sentence) => sentence !== false);
  if (sentences.length > 0) return sentences.join(" ");
  return data.length === 0 ? "No provider is in use." : "All providers work.";
}
