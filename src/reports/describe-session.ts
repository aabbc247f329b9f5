import {
  answerColumns,
  cacheReadColumns,
  cacheWriteColumns,
  formatUsd,
  promptColumns,
  sumColumns,
} from "../contract/index.ts";
import type { AgentBill, SessionBill, SessionFigures } from "./session-bill.ts";

/** API and command line show the bill of a session alike, but for its times. */
export function describeSession<Time>(bill: SessionBill, toTime: (at: number) => Time) {
  const { firstAt, lastAt, running, figures, byModel, byKey, agents, isComplete } = bill;
  return {
    complete: isComplete,
    started_at: toTime(firstAt),
    ended_at: lastAt === undefined ? null : toTime(lastAt),
    running,
    ...describeFigures(figures),
    models: [...byModel].map(([model, sums]) => ({ model, ...describeFigures(sums) })),
    api_keys: [...byKey].map(([key, sums]) => ({ api_key_id: key, ...describeFigures(sums) })),
    agents: agents.map((agent) => describeAgent(agent, toTime)),
  };
}

function describeAgent<Time>(bill: AgentBill, toTime: (at: number) => Time) {
  const { agent, parent, depth, running, firstAt, lastAt, figures, byModel } = bill;
  return {
    agent: agent ?? null,
    parent_agent: parent ?? null,
    depth,
    started_at: toTime(firstAt),
    ended_at: lastAt === undefined ? null : toTime(lastAt),
    running,
    ...describeFigures(figures),
    models: [...byModel].map(([model, sums]) => ({ model, ...describeFigures(sums) })),
    branch: { agents: bill.agentsBelow, running: bill.branchRunning, ...describeFigures(bill.branch) },
  };
}

function describeFigures(figures: SessionFigures) {
  const input = sumColumns(figures, promptColumns);
  const [read, written] = [sumColumns(figures, cacheReadColumns), sumColumns(figures, cacheWriteColumns)];
  return {
    calls: figures.calls,
    errors: figures.errors,
    duration_ms: figures.duration_ms,
    input_tokens: input,
    input_cached_tokens: read,
    input_cache_write_tokens: written,
    input_uncached_tokens: input - read - written,
    output_tokens: sumColumns(figures, answerColumns),
    quota_tokens: figures.quota_tokens,
    cost_usd: formatUsd(figures.cost_nanodollars),
    charged_usd: formatUsd(figures.charged_nanodollars),
    cache_saved_usd: formatUsd(figures.cache_saved_nanodollars),
    cache_lost_usd: formatUsd(figures.cache_lost_nanodollars),
  };
}
