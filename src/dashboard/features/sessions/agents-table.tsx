import { Link } from "wouter";
import { formatCount, formatSeconds, formatShort } from "../../format.ts";
import { Button } from "../../kit/button.tsx";
import { Usd } from "../../kit/page.tsx";
import { actionsColumn, type Column, Table } from "../../kit/table.tsx";
import type { AgentBill, SessionBill } from "./api.ts";

/** Stands for the agents that are not counted apart. */
const others = "*";
/** Agents that are shown at first. */
const shownMax = 60;
/** An agent this deep or deeper is not moved further to the right. */
const depthMax = 6;

export function toAgentName(agent: string | null): string {
  if (agent === null) return "Main agent";
  return agent === others ? "Further agents" : agent;
}

/** The agents of a session as a tree, each with its own figures. */
export function AgentsTable({ bill, onEnd }: { bill: SessionBill; onEnd: ((agent: AgentBill) => void) | undefined }) {
  const toRequests = (agent: string) =>
    `/requests?${new URLSearchParams({ session: bill.session, agent, ...(bill.account_name !== null && { account: bill.account }) })}`;
  const lead: Column<AgentBill> = {
    name: "Agent",
    className: "name lead",
    cell: (row) => <AgentCell row={row} toRequests={toRequests} />,
  };
  const end = actionsColumn<AgentBill>((row) =>
    row.agent === null || row.agent === others ? null : (
      <Button
        look="plain small bad"
        aria-label={`End ${row.agent} and everything below it`}
        onClick={() => onEnd?.(row)}
      >
        End
      </Button>
    ),
  );
  return (
    <Table
      columns={onEnd === undefined ? [lead, ...columns] : [lead, ...columns, end]}
      rows={bill.agents}
      rowKey={({ agent }) => agent ?? ""}
      shownMax={shownMax}
    />
  );
}

function AgentCell({ row, toRequests }: { row: AgentBill; toRequests: (agent: string) => string }) {
  const { agent, depth, branch, models, running } = row;
  const isLink = agent !== null && agent !== others;
  return (
    <div className="agent" style={{ paddingLeft: `${Math.max(0, Math.min(depth, depthMax) - 1) * 18}px` }}>
      {depth > 0 && <span className="agent-branch" aria-hidden="true" />}
      <div className="agent-text">
        <span className="agent-name">
          {isLink ? (
            <Link className="link cut mono" href={toRequests(agent)} title={agent}>
              {agent}
            </Link>
          ) : (
            <strong className="cut">{toAgentName(agent)}</strong>
          )}
          {running > 0 && (
            <span className="badge is-accent">
              <span className="dot" />
              {running === 1 ? "running" : `${formatCount(running)} running`}
            </span>
          )}
        </span>
        <span className="sub cut">
          {[
            ...(branch.agents > 0
              ? [branch.agents === 1 ? "1 agent below" : `${formatCount(branch.agents)} agents below`]
              : []),
            models.map(({ model_name: name }) => name).join(", "),
          ]
            .filter((text) => text !== "")
            .join(" · ")}
        </span>
      </div>
    </div>
  );
}

const tokens = (name: string, className: string, read: (row: AgentBill) => number): Column<AgentBill> => ({
  name,
  className: `end ${className}`.trim(),
  cell: (row) => <span title={formatCount(read(row))}>{formatShort(read(row))}</span>,
});

const columns: readonly Column<AgentBill>[] = [
  {
    name: "Calls",
    className: "end",
    cell: ({ calls, errors }) => (
      <>
        {formatCount(calls)}
        {errors > 0 && <span className="sub is-failed">{formatCount(errors)} failed</span>}
      </>
    ),
  },
  {
    name: "Time",
    className: "end roomy-only",
    cell: ({ duration_ms: ms }) => <span title="Durations of its calls, added up">{formatSeconds(ms / 1000)}</span>,
  },
  tokens("Cache read", "", ({ input_cached_tokens: count }) => count),
  tokens("Cache write", "", ({ input_cache_write_tokens: count }) => count),
  tokens("Rest", "", ({ input_uncached_tokens: count }) => count),
  tokens("Output", "", ({ output_tokens: count }) => count),
  {
    name: "Cost",
    className: "end",
    cell: ({ cost_usd: cost, branch }) => (
      <>
        <Usd value={cost} isAligned />
        {branch.agents > 0 && (
          <span className="sub" title="With all agents below it">
            <Usd value={branch.cost_usd} isAligned /> with below
          </span>
        )}
      </>
    ),
  },
];
