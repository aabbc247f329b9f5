import { formatCount, formatExactUsd, formatMs, formatShare, formatShort, formatUsd } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { ChartSpanFields } from "../../kit/chart-span.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Select } from "../../kit/field.tsx";
import { PageHead } from "../../kit/page.tsx";
import { SavedViews } from "../../kit/saved-views.tsx";
import { Change, Stat } from "../../kit/stat.tsx";
import { setParams, useParam, useUrlParams } from "../../kit/url-state.ts";
import { missNames } from "../requests/cache-miss.ts";
import {
  type FilterName,
  groupNames,
  type MetricName,
  metricNames,
  type Statistics,
  targetUnits,
  useStatistics,
} from "./api.ts";
import { toWords } from "./group-name.ts";
import { GroupsTable } from "./groups-table.tsx";
import { OverTime } from "./over-time.tsx";
import { type Asked, readAsked } from "./query.ts";

const filterLabels: Readonly<Record<FilterName, string>> = groupNames;

/** Reasons of misses that a card has room for. */
const lossesShown = 3;

interface Props {
  title: string;
  description: string;
  /** Absent: all accounts. */
  account?: string | undefined;
}

/** Sums of requests over time and by group. All that is chosen is in the address. */
export function StatisticsView({ title, description, account }: Props) {
  const query = readAsked(useUrlParams(), Date.now(), account);
  const statistics = useStatistics(query.query);
  const isOfAll = account === undefined;
  return (
    <>
      <PageHead title={title} description={description}>
        <SavedViews page={isOfAll ? "gateway" : "usage"} />
        <ChartSpanFields
          range={query.range}
          from={query.query.from}
          to={query.query.to}
          interval={query.query.interval}
          intervals={query.intervals}
        />
      </PageHead>
      <div className="stack">
        <Filters asked={query} isOfAll={isOfAll} names={statistics.data?.filter_names} />
        <Loaded state={statistics} lines={10}>
          {(data) => (
            <>
              <Figures data={data} isOfAll={isOfAll} />
              <OverTime data={data} query={query.query} target={query.target}>
                <Select
                  isSmall
                  aria-label="Group by"
                  options={Object.entries(groupNames)
                    .filter(([group]) => isOfAll || group !== "account")
                    .map(([group, name]) => [group, `By ${toWords(name)}`] as const)}
                  value={query.query.group_by}
                  onText={(by) => setParams({ by: by === "model" ? "" : by, sort: "" })}
                />
                <Select
                  isSmall
                  aria-label="Metric"
                  options={Object.entries(metricNames).filter(
                    ([metric]) => metric !== "earned" || data.totals.earned_usd !== null,
                  )}
                  value={query.query.metric}
                  onText={(metric) => setParams({ metric: metric === "cost" ? "" : metric, target: "" })}
                />
                <TargetField metric={query.query.metric} />
              </OverTime>
              {data.totals.requests > 0 && <GroupsTable data={data} query={query.query} isOfAll={isOfAll} />}
              {data.totals.requests === 0 && (
                <section className="card" aria-label="Groups">
                  <Empty icon="pulse" title="No requests in this period">
                    <p>Requests with API keys are summed up here within a minute.</p>
                  </Empty>
                </section>
              )}
            </>
          )}
        </Loaded>
      </div>
    </>
  );
}

/** The target of a metric that does not add up, in the address. */
function TargetField({ metric }: { metric: MetricName }) {
  const [target, setTarget] = useParam("target");
  const unit = targetUnits[metric];
  if (unit === undefined) return null;
  return (
    <input
      className="input input-small"
      size={12}
      aria-label={`Target (${unit})`}
      placeholder={`Target (${unit})`}
      inputMode="decimal"
      autoComplete="off"
      maxLength={11}
      value={target}
      onChange={(event) => setTarget(event.target.value.trim())}
    />
  );
}

/** The active filters of the sums, each with a button that ends it. */
function Filters({
  asked: { query },
  isOfAll,
  names: shown,
}: {
  asked: Asked;
  isOfAll: boolean;
  names: Statistics["filter_names"] | undefined;
}) {
  const names = (Object.keys(filterLabels) as FilterName[]).filter(
    (name) => query[name] !== undefined && (isOfAll || name !== "account"),
  );
  if (names.length === 0) return null;
  return (
    <div className="row">
      {names.map((name) => (
        <Button
          key={name}
          look="small"
          icon="close"
          aria-label={`Remove the filter ${filterLabels[name]}`}
          onClick={() => setParams({ [name]: "" })}
        >
          {filterLabels[name]}:{" "}
          {(shown as Partial<Record<FilterName, string | null>> | undefined)?.[name] ?? query[name]}
        </Button>
      ))}
    </div>
  );
}

function Figures({
  data: { totals, previous, refusals, cache_losses: losses },
  isOfAll,
}: {
  data: Statistics;
  isOfAll: boolean;
}) {
  const { requests, errors, refused, first_byte_ms: first, duration_ms: duration } = totals;
  const [reason] = refusals;
  return (
    <div className="stats is-four">
      <Stat name="Spend" value={formatUsd(totals.cost_usd)} exact={formatExactUsd(totals.cost_usd)}>
        <Change now={Number(totals.cost_usd)} before={Number(previous.cost_usd)} format={formatUsd} />
        {formatUsd(totals.charged_usd)} charged to {isOfAll ? "wallets" : "the wallet"}
      </Stat>
      {totals.earned_usd !== null && previous.earned_usd !== null && (
        <Stat name="Earned" value={formatUsd(totals.earned_usd)} exact={formatExactUsd(totals.earned_usd)}>
          <Change now={Number(totals.earned_usd)} before={Number(previous.earned_usd)} format={formatUsd} />
          {totals.margin !== null && `${formatShare(totals.margin)} of the charges; `}
          {formatUsd(totals.provider_cost_usd)} owed to providers
        </Stat>
      )}
      <Stat name="Requests" value={formatShort(requests)} exact={formatCount(requests)}>
        <Change now={requests} before={previous.requests} format={formatCount} />
        {errors === 0
          ? "no errors"
          : `${formatCount(errors)} failed (${formatShare(errors / requests)}), ${formatCount(refused)} of them refused`}
        {reason !== undefined && `, most by ${reason.code}`}
      </Stat>
      <Stat name="Tokens" value={formatShort(totals.total_tokens)} exact={formatCount(totals.total_tokens)}>
        <Change now={totals.total_tokens} before={previous.total_tokens} format={formatShort} />
        {formatShort(totals.prompt_tokens)} in, {formatShort(totals.completion_tokens)} out
      </Stat>
      <Stat name="Cache hits" value={formatShare(totals.cache_share)}>
        {previous.cache_share !== null && `${formatShare(previous.cache_share)} in the previous period; `}
        {formatShort(totals.cached_tokens)} tokens of prompts
      </Stat>
      <Stat
        name="Saved by caches"
        value={formatUsd(totals.cache_saved_usd)}
        exact={formatExactUsd(totals.cache_saved_usd)}
      >
        <Change now={Number(totals.cache_saved_usd)} before={Number(previous.cache_saved_usd)} format={formatUsd} />
        against the price of input
      </Stat>
      <Stat
        name="Lost to cache misses"
        value={formatUsd(totals.cache_lost_usd)}
        exact={formatExactUsd(totals.cache_lost_usd)}
      >
        <Change now={Number(totals.cache_lost_usd)} before={Number(previous.cache_lost_usd)} format={formatUsd} />
        {toLosses(losses) || "in sessions"}
      </Stat>
      <Stat name="Time to first token" value={formatMs(first.p50)}>
        <Change now={first.p50} before={previous.first_byte_ms.p50} format={(ms) => formatMs(Math.round(ms))} />
        median; p95 {formatMs(first.p95)}
      </Stat>
      <Stat name="Duration" value={formatMs(duration.p50)}>
        <Change now={duration.p50} before={previous.duration_ms.p50} format={(ms) => formatMs(Math.round(ms))} />
        median; p95 {formatMs(duration.p95)}
      </Stat>
    </div>
  );
}

/** The most expensive reasons, such as `$1.20 by changed tools, $0.40 by expired caches`. */
function toLosses(losses: Statistics["cache_losses"]): string {
  return losses
    .filter(({ lost_usd: lost }) => Number(lost) > 0)
    .slice(0, lossesShown)
    .map(({ kind, lost_usd: lost }) => `${formatUsd(lost)} by ${missNames[kind]}`)
    .join(", ");
}
