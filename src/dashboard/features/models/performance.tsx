import { readChartSpan } from "../../data/time-range.ts";
import { formatCount, formatMs, formatShare, formatShort } from "../../format.ts";
import { LinkButton } from "../../kit/button.tsx";
import { Empty, Loaded } from "../../kit/feedback.tsx";
import { Segmented } from "../../kit/segmented.tsx";
import { type Column, figureColumn, Table } from "../../kit/table.tsx";
import { useChoice } from "../../kit/url-state.ts";
import { type StatisticsGroup, useStatistics } from "../statistics/api.ts";
import { toGroupName } from "../statistics/group-name.ts";

const minutesPerDay = 1440;
/** A higher share of failed requests is marked. */
const errorShareMax = 0.05;

const groups = [
  ["model", "By model"],
  ["plugin", "By provider"],
] as const;
type Group = (typeof groups)[number][0];

/** How fast and how reliable models and providers were in the last 24 hours, for all accounts together. */
export function Performance({ search, onShow }: { search: string; onShow: (model: string) => void }) {
  const [group, setGroup] = useChoice("by", groups);
  const { from, to } = readChartSpan(new URLSearchParams({ range: "day" }), Date.now());
  const statistics = useStatistics({ from, to, interval: "hour", group_by: group, metric: "requests" });
  const query = search.trim().toLowerCase();
  return (
    <>
      <div className="card-head is-ruled">
        <span className="soft">All accounts, the last 24 hours. A request that was refused counts as an error.</span>
        <Segmented label="Group" value={group} options={groups} onChoose={setGroup} />
      </div>
      <Loaded state={statistics} lines={6}>
        {(data) => {
          const groups = data.groups.filter(({ value }) => value !== "");
          const shown = groups.filter((row) => toGroupName(row, group).toLowerCase().includes(query));
          return (
            <>
              {data.group_count !== null && data.group_count > data.groups.length && (
                <p className="card-body faint">The {data.groups.length} with the most requests are shown.</p>
              )}
              <Table
                rows={shown}
                rowKey={({ value }) => value}
                sortName="order"
                fileName={`performance-by-${group === "model" ? "model" : "provider"}`}
                columns={toColumns(group, onShow)}
                empty={
                  <Empty
                    icon="pulse"
                    title={groups.length === 0 ? "No requests in the last 24 hours" : "None matches"}
                  />
                }
              />
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function toColumns(group: Group, onShow: (model: string) => void): readonly Column<StatisticsGroup>[] {
  return [
    {
      name: group === "model" ? "Model" : "Provider",
      className: "name lead",
      sort: (row) => toGroupName(row, group),
      cell: (row) =>
        group === "model" ? (
          <LinkButton look="link cut" onClick={() => onShow(row.value)}>
            {toGroupName(row, group)}
          </LinkButton>
        ) : (
          toGroupName(row, group)
        ),
    },
    figureColumn("Requests", ({ requests }) => requests),
    {
      name: "Error share",
      className: "end",
      sort: ({ errors, requests }) => errors / requests,
      cell: ({ errors, requests }) => (
        <span
          className={errors / requests > errorShareMax ? "badge is-bad" : undefined}
          title={`${formatCount(errors)} failed`}
        >
          {formatShare(errors / requests)}
        </span>
      ),
    },
    {
      ...figureColumn("Time to first token p50", ({ first_byte_ms }: StatisticsGroup) => first_byte_ms.p50, formatMs),
      className: "end has-long-name",
    },
    {
      ...figureColumn("Time to first token p95", ({ first_byte_ms }: StatisticsGroup) => first_byte_ms.p95, formatMs),
      className: "end has-long-name",
    },
    figureColumn("Duration p50", ({ duration_ms }) => duration_ms.p50, formatMs),
    figureColumn("Duration p95", ({ duration_ms }) => duration_ms.p95, formatMs),
    {
      name: "Tokens per minute",
      className: "end",
      sort: ({ total_tokens }) => total_tokens / minutesPerDay,
      cell: ({ total_tokens }) => (
        <span title={`${formatCount(total_tokens)} tokens in 24 hours`}>
          {formatShort(Math.round(total_tokens / minutesPerDay))}
        </span>
      ),
    },
  ];
}
