import { formatMoment, formatShare } from "../../format.ts";
import { Callout, Empty, Loaded } from "../../kit/feedback.tsx";
import { PageHead, Section } from "../../kit/page.tsx";
import { useModelNames } from "../models/api.ts";
import { type StatusRow, useStatus } from "../providers/api.ts";
import { HealthState, Strip } from "../providers/health.tsx";

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

function ProviderRow({ row: { provider, state, since, strip, models, failed_share: share } }: { row: StatusRow }) {
  const nameOf = useModelNames();
  const shown = models.slice(0, modelsMax).map(nameOf).join(", ");
  const rest = models.length - modelsMax;
  return (
    <li className="status-row">
      <div>
        <strong>{provider}</strong> <HealthState state={state} />
        {since !== null && <span className="sub">since {formatMoment(since)}</span>}
        {state === "degraded" && share !== null && share > 0 && (
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
  if (data.some(({ state }) => state === "failing")) return "bad";
  return data.some(({ state }) => state === "degraded") ? "warn" : "good";
}

function summarize(data: readonly StatusRow[]): string {
  const failing = data.filter(({ state }) => state === "failing").map(({ provider }) => provider);
  if (failing.length > 0)
    return `${failing.join(", ")} ${failing.length === 1 ? "is" : "are"} failing. Models of other providers work.`;
  const degraded = data.filter(({ state }) => state === "degraded").map(({ provider }) => provider);
  if (degraded.length > 0) return `Some calls to ${degraded.join(", ")} fail.`;
  return data.length === 0 ? "No provider is in use." : "All providers work.";
}
