import { Fragment } from "react";
import { useSearch } from "wouter";
import { formatCount, formatMs, formatShare, formatShort, formatUsd } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { DayFields } from "../../kit/day-fields.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Select } from "../../kit/field.tsx";
import { PageHead } from "../../kit/page.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { setParams } from "../../kit/use-param.ts";
import { Stat } from "../overview/stats.tsx";
import { type FilterName, groupNames, metricNames, type Statistics, useStatistics } from "./api.ts";
import { toWords } from "./group-name.ts";
import { GroupsTable } from "./groups-table.tsx";
import { OverTime } from "./over-time.tsx";
import { type Asked, intervalNames, type RangeName, ranges, readAsked } from "./query.ts";

const rangeOptions = [
  ...Object.entries(ranges).map(([range, { name }]) => [range as RangeName, name] as const),
  ["custom", "Custom"] as const,
];
const filterLabels: Readonly<Record<FilterName, string>> = groupNames;

interface Props {
  title: string;
  description: string;
  /** Absent: all accounts. */
  account?: string | undefined;
}

/** Sums of requests over time and by group. All that is chosen is in the address. */
export function Glance({ title, description, account }: Props) {
  const asked = readAsked(new URLSearchParams(useSearch()), Date.now(), account);
  const statistics = useStatistics(asked.query);
  const isOfAll = account === undefined;
  return (
    <>
      <PageHead title={title} description={description}>
        <Span asked={asked} />
      </PageHead>
      <div className="stack">
        <Filters asked={asked} isOfAll={isOfAll} />
        <Loaded state={statistics} lines={10}>
          {(data) => (
            <>
              <Figures totals={data.totals} isOfAll={isOfAll} />
              <OverTime data={data} query={asked.query}>
                <Select
                  isSmall
                  aria-label="Group by"
                  options={Object.entries(groupNames)
                    .filter(([group]) => isOfAll || group !== "account")
                    .map(([group, name]) => [group, `By ${toWords(name)}`] as const)}
                  value={asked.query.group_by}
                  onText={(by) => setParams({ by: by === "model" ? "" : by, sort: "" })}
                />
                <Select
                  isSmall
                  aria-label="Metric"
                  options={Object.entries(metricNames)}
                  value={asked.query.metric}
                  onText={(metric) => setParams({ metric: metric === "cost" ? "" : metric })}
                />
              </OverTime>
              {data.totals.requests > 0 && <GroupsTable data={data} query={asked.query} isOfAll={isOfAll} />}
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

function Span({ asked: { range, query, intervals } }: { asked: Asked }) {
  return (
    <>
      <Segmented
        label="Time range"
        value={range}
        options={rangeOptions}
        // Custom days begin as those that are shown.
        onChoose={(next) =>
          setParams(
            next === "custom"
              ? { range: next, from: query.from.slice(0, 10), to: query.to.slice(0, 10), interval: "" }
              : { range: next === "month" ? "" : next, from: "", to: "", interval: "" },
          )
        }
      />
      {range === "custom" && (
        <DayFields startDate={query.from} endDate={query.to} onDay={(day) => setParams({ ...day, interval: "" })} />
      )}
      {intervals.length > 1 && (
        <Select
          isSmall
          aria-label="Interval"
          options={intervals.map((each) => [each, intervalNames[each]] as const)}
          value={query.interval}
          onText={(interval) => setParams({ interval: interval === intervals[0] ? "" : interval })}
        />
      )}
    </>
  );
}

/** What the sums are narrowed to, each with a button that ends it. */
function Filters({ asked: { query }, isOfAll }: { asked: Asked; isOfAll: boolean }) {
  const names = (Object.keys(filterLabels) as FilterName[]).filter(
    (name) => query[name] !== undefined && (isOfAll || name !== "account"),
  );
  if (names.length === 0) return null;
  return (
    <div className="row">
      {names.map((name) => (
        <Fragment key={name}>
          <Button
            look="small"
            icon="close"
            aria-label={`Remove the filter ${filterLabels[name]}`}
            onClick={() => setParams({ [name]: "" })}
          >
            {filterLabels[name]}: {query[name]}
          </Button>
        </Fragment>
      ))}
    </div>
  );
}

function Figures({ totals, isOfAll }: { totals: Statistics["totals"]; isOfAll: boolean }) {
  const { requests, errors, refused, first_byte_ms: first, duration_ms: duration } = totals;
  return (
    <div className="stats is-even">
      <Stat name="Spend" value={formatUsd(totals.cost_usd)} exact={`$${totals.cost_usd}`}>
        list price; {formatUsd(totals.charged_usd)} charged to {isOfAll ? "wallets" : "the wallet"}
      </Stat>
      <Stat name="Requests" value={formatShort(requests)} exact={formatCount(requests)}>
        {errors === 0
          ? "no errors"
          : `${formatCount(errors)} failed (${formatShare(errors / requests)}), ${formatCount(refused)} of them refused`}
      </Stat>
      <Stat name="Tokens" value={formatShort(totals.total_tokens)} exact={formatCount(totals.total_tokens)}>
        {formatShort(totals.prompt_tokens)} in, {formatShort(totals.completion_tokens)} out
      </Stat>
      <Stat name="Cache hits" value={formatShare(totals.cache_share)}>
        {formatShort(totals.cached_tokens)} tokens of prompts
      </Stat>
      <Stat name="First byte" value={formatMs(first.p50)}>
        median; p95 {formatMs(first.p95)}
      </Stat>
      <Stat name="Duration" value={formatMs(duration.p50)}>
        median; p95 {formatMs(duration.p95)}
      </Stat>
    </div>
  );
}
