import { Link } from "wouter";
import { formatChange, formatCount, formatMs, formatShare, formatShort, formatUsd } from "../../format.ts";
import { DownloadLink } from "../../kit/button.tsx";
import { Swatch } from "../../kit/chart/stacked-bars.tsx";
import { Section } from "../../kit/page.tsx";
import { type Column, Table, usdColumn } from "../../kit/table.tsx";
import { setParams } from "../../kit/url-state.ts";
import {
  filterNames,
  groupNames,
  metricNames,
  type Statistics,
  type StatisticsGroup,
  type StatisticsQuery,
  targetUnits,
} from "./api.ts";
import { toGroupName, toWords } from "./group-name.ts";

const dayMs = 86_400_000;

/** The groups with the most of the metric; the order of a column is in the address. */
export function GroupsTable({
  data,
  query,
  isOfAll,
  isNarrowing = true,
  sortName = "sort",
}: {
  data: Statistics;
  query: StatisticsQuery;
  isOfAll: boolean;
  /** Whether the name of a group narrows the page to it. */
  isNarrowing?: boolean;
  sortName?: string;
}) {
  const { groups, group_count: count } = data;
  const isCut = count === null || groups.length < count;
  return (
    <Section
      title={`By ${toWords(groupNames[query.group_by])}`}
      actions={
        <span className="row">
          {isCut && (
            <span className="faint">
              {groups.length}
              {count !== null && ` of ${formatCount(count)}`}, the largest by {rankName(query.metric)}
            </span>
          )}
          <DownloadLink look="small" href={`/dashboard/api/statistics.csv?${new URLSearchParams({ ...query })}`} />
        </span>
      }
    >
      <Table
        rows={groups}
        rowKey={({ value, account }) => `${account} ${value}`}
        columns={toColumns({ query, isOfAll, isNarrowing, isOfOperator: data.totals.earned_usd !== null })}
        sortName={sortName}
        empty={
          <div className="card-body">
            <p className="faint">No request of this period has a {toWords(groupNames[query.group_by])}.</p>
          </div>
        }
      />
    </Section>
  );
}

/** Latencies and shares do not rank: a single slow request would be first. */
function rankName(metric: StatisticsQuery["metric"]): string {
  if (metric === "cache") return metricNames.tokens.toLowerCase();
  return metricNames[targetUnits[metric] === undefined ? metric : "requests"].toLowerCase();
}

function toColumns(shown: Omit<CellProps, "row"> & { isOfOperator: boolean }): readonly Column<StatisticsGroup>[] {
  const { query } = shown;
  const { group_by: group } = query;
  const latency = (name: string, of: (row: StatisticsGroup) => StatisticsGroup["duration_ms"]) => ({
    name,
    className: "end wide-only",
    sort: (row: StatisticsGroup) => of(row).p95,
    cell: (row: StatisticsGroup) => (
      <span title="median, and 95th percentile">
        {formatMs(of(row).p50)} <span className="faint">/ {formatMs(of(row).p95)}</span>
      </span>
    ),
  });
  return [
    {
      name: groupNames[group],
      className: "name lead",
      sort: (row) => toGroupName(row, group),
      cell: (row) => <GroupCell row={row} {...shown} />,
    },
    {
      name: "Requests",
      className: "end",
      sort: ({ requests }) => requests,
      cell: (row) => <RequestsLink row={row} {...shown} />,
    },
    {
      name: "Errors",
      className: "end",
      sort: ({ errors }) => errors,
      cell: (row) => <ErrorsLink row={row} {...shown} />,
    },
    {
      name: "Tokens",
      className: "end",
      sort: ({ total_tokens }) => total_tokens,
      cell: ({ total_tokens }) => <span title={formatCount(total_tokens)}>{formatShort(total_tokens)}</span>,
    },
    {
      name: "Cache hits",
      className: "end wide-only",
      sort: ({ cache_share }) => cache_share,
      cell: ({ cache_share }) => formatShare(cache_share),
    },
    latency("Time to first token", ({ first_byte_ms }) => first_byte_ms),
    latency("Duration", ({ duration_ms }) => duration_ms),
    usdColumn("Spend", ({ cost_usd }) => cost_usd, true),
    {
      name: "Change",
      className: "end",
      sort: ({ previous }) => previous.change_percent.cost_usd,
      cell: ({ cost_usd, previous }) => (
        <span title={`${formatUsd(previous.cost_usd)} in the period before`}>
          {formatChange(Number(cost_usd), Number(previous.cost_usd)) ?? "new"}
        </span>
      ),
    },
    ...(shown.isOfOperator ? marginColumns : []),
  ];
}

const marginColumns: readonly Column<StatisticsGroup>[] = [
  usdColumn("Provider’s cost", ({ provider_cost_usd }) => provider_cost_usd ?? "0"),
  usdColumn("Earned", ({ earned_usd }) => earned_usd ?? "0"),
  {
    name: "Margin",
    className: "end wide-only",
    sort: ({ margin }) => margin,
    cell: ({ margin }) => formatShare(margin),
  },
];

interface CellProps {
  row: StatisticsGroup;
  query: StatisticsQuery;
  isOfAll: boolean;
  isNarrowing: boolean;
}

/** The name of the group, which narrows the page to it where that is possible. */
function GroupCell({ row, query, isOfAll, isNarrowing }: CellProps) {
  const { group_by: group } = query;
  const name = toGroupName(row, group);
  const isFilter =
    isNarrowing &&
    filterNames.some((filter) => filter === group) &&
    row.value !== "" &&
    query[group as "key"] === undefined;
  const ofAccount = row.email === null ? null : row.name;
  const owner = group === "account" ? ofAccount : isOfAll ? row.account_name : null;
  const isSession = group === "session" && row.value !== "" && row.value !== "*";
  return (
    <>
      <span className="legend-name">
        {row.values !== null && <Swatch name={name} />}
        {isSession ? (
          <Link className="link cut" href={toSessionPath(row, isOfAll)} title={name}>
            {name}
          </Link>
        ) : isFilter ? (
          <button
            type="button"
            className="link cut"
            title={`Show only ${name}`}
            onClick={() => setParams({ [group]: row.value, by: group === "model" ? "key" : "", sort: "" })}
          >
            {name}
          </button>
        ) : (
          <span className="cut">{name}</span>
        )}
      </span>
      {owner !== null && <span className="sub cut">{owner}</span>}
    </>
  );
}

function toSessionPath({ value, account }: StatisticsGroup, isOfAll: boolean): string {
  return `/sessions?${new URLSearchParams({ session: value, ...(isOfAll && account !== null && { account }) })}`;
}

function RequestsLink(props: CellProps) {
  const path = toRequestsPath(props);
  const count = formatCount(props.row.requests);
  return path === undefined ? count : <Link href={path}>{count}</Link>;
}

function ErrorsLink(props: CellProps) {
  const { errors, requests } = props.row;
  if (errors === 0) return "0";
  const text = `${formatCount(errors)} (${formatShare(errors / requests)})`;
  const title = `of ${formatCount(requests)}`;
  // A group of one status has no other to choose.
  const path = toRequestsPath(props, props.query.group_by === "status" ? {} : { status: "failed" });
  if (path === undefined) return <span title={title}>{text}</span>;
  return (
    <Link href={path} title={title}>
      {text}
    </Link>
  );
}

/** To the requests themselves, where the log can be narrowed to them. */
function toRequestsPath({ row, query, isOfAll }: CellProps, only: Record<string, string> = {}): string | undefined {
  const { group_by: group, from, to, interval: _interval, metric: _metric, ...filters } = query;
  const isUnknown = row.value === "" || row.value === "*" || (group === "status" && row.value === "0");
  if (isUnknown) return undefined;
  const until = to.length > 10 ? to : new Date(Date.parse(to) + dayMs).toISOString();
  const params = new URLSearchParams({
    ...only,
    ...filters,
    ...(isOfAll && row.account !== null && { account: row.account }),
    [group]: row.value,
    from: new Date(from).toISOString(),
    until,
  });
  if (!isOfAll) params.delete("account");
  return `/requests?${params}`;
}
