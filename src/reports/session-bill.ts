/** The cost of a session by the agents that made its calls. The sum of the entries is the sum of the session in the ledger. */
import type { Store } from "../db/index.ts";
import { type AgentTree, toAgentTree, walkTree } from "./agent-tree.ts";
import { readRunningCalls, readSessionRows, type SessionQuery, type SessionRow, sessionSums } from "./session-rows.ts";
import { type ModelUsage, type UsageFigures, usageFigures } from "./usage.ts";

/** Agents of a session that are counted apart: the first ones. */
export const agentsMax = 500;
/** Stands for the agents that are too many; no agent can be called so. */
const otherAgents = "*";
/** API keys of a session that are counted apart: the first ones. */
const keysMax = 100;
/** Agents whose place in the tree is looked at to find what is below one of them. */
const placedMax = 10_000;

const counts = ["calls", "errors"] as const;
export type SessionFigures = Record<(typeof counts)[number] | (typeof sessionSums)[number], number>;

/** Figures of an agent, in total and by model. */
export interface AgentBill {
  /** `undefined`: the session itself. */
  readonly agent: string | undefined;
  /** Where it hangs; `undefined`: at the root. */
  readonly parent: string | undefined;
  /** 0: the session itself. */
  readonly depth: number;
  /** Calls that run; they are in no figure. */
  readonly running: number;
  readonly firstAt: number;
  /** When its last call ended; absent while none has. */
  readonly lastAt: number | undefined;
  readonly figures: SessionFigures;
  readonly byModel: ReadonlyMap<string, SessionFigures>;
  /** The figures of the agent and of all agents below it, and how many those are. */
  readonly branch: SessionFigures;
  readonly branchRunning: number;
  readonly agentsBelow: number;
}

export interface SessionBill {
  readonly firstAt: number;
  readonly lastAt: number | undefined;
  readonly running: number;
  readonly figures: SessionFigures;
  readonly byModel: ReadonlyMap<string, SessionFigures>;
  readonly byKey: ReadonlyMap<string, SessionFigures>;
  /** The session itself, and then each agent before those that it started; at the end the ones that are too many, as one. */
  readonly agents: readonly AgentBill[];
  /** `false` for a session of more calls than are read: its newest ones are missing. */
  readonly isComplete: boolean;
}

/** Reads the bill of a session; `undefined` where no call of this account, or this key, has named it. */
export async function readSessionBill(store: Pick<Store, "db">, query: SessionQuery): Promise<SessionBill | undefined> {
  const { sums, isComplete } = await readSums(store, query, agentsMax);
  if (sums.firstAt === undefined) return undefined;
  return {
    firstAt: sums.firstAt,
    lastAt: sums.lastAt,
    running: sums.running,
    figures: sums.figures,
    byModel: sums.byModel,
    byKey: sums.byKey,
    agents: toBills(sums),
    isComplete,
  };
}

/**
 * Usage of a session by agent and hour, as {@link ModelUsage} whose `model` is the agent: empty for the session itself, `*` for the
 * agents that are too many.
 *
 * @returns `undefined` for a session of more calls than are read.
 */
export async function readAgentUsage(store: Pick<Store, "db">, query: SessionQuery): Promise<ModelUsage[] | undefined> {
  const usage: ModelUsage[] = [];
  const names = new Set<string>();
  const isComplete = await readSessionRows(store, query, {
    byHour: true,
    take(row) {
      const agent = row.agent ?? "";
      if (agent !== "" && names.size < agentsMax) names.add(agent);
      const model = agent === "" || names.has(agent) ? agent : otherAgents;
      const figures = Object.fromEntries(usageFigures.map((name) => [name, row[name]])) as UsageFigures;
      usage.push({ ...figures, hour: row.hour, model });
    },
  });
  return isComplete ? usage : undefined;
}

/** The agents of a session, and those at other places that run a call now. */
export interface RunningAgent {
  readonly agent?: string | undefined;
  readonly parentAgent?: string | undefined;
}

/** A branch of a session: an agent, everything below it, and how many of their calls run by what is recorded. */
export interface SessionBranch {
  readonly agents: ReadonlySet<string>;
  /** Agents that name one of these as their parent and still are not below it: they are in a circle with it. */
  readonly spared: ReadonlySet<string>;
  readonly running: number;
}

/**
 * Finds what is below an agent, or all of a session.
 *
 * @param alsoRunning Calls that may not be recorded yet.
 * @returns `undefined` where the session, or the agent in it, made no call.
 */
export async function readBranch(
  store: Pick<Store, "db">,
  { agent, ...query }: SessionQuery & { readonly agent: string | undefined },
  alsoRunning: Iterable<RunningAgent> = [],
): Promise<SessionBranch | undefined> {
  const { sums } = await readSums(store, query, placedMax);
  let isUsed = sums.firstAt !== undefined;
  for (const { agent: name, parentAgent } of alsoRunning) {
    isUsed = true;
    sums.place(name, parentAgent);
  }
  if (!isUsed) return undefined;
  if (agent === undefined) return { agents: new Set(), spared: new Set(), running: sums.running };
  if (!sums.agents.has(agent)) return undefined;
  const agents = new Set([agent]);
  for (const { agent: below } of walkTree(sums.toTree(), agent)) agents.add(below);
  const spared = new Set<string>();
  let running = 0;
  for (const [name, { parent, running: calls }] of sums.agents) {
    if (agents.has(name)) running += calls;
    else if (parent !== undefined && agents.has(parent)) spared.add(name);
  }
  return { agents, spared, running };
}

interface AgentSums {
  /** The one that the first of its calls named. */
  readonly parent: string | undefined;
  running: number;
  firstAt: number;
  lastAt: number | undefined;
  readonly figures: SessionFigures;
  readonly byModel: Map<string, SessionFigures>;
}

const newSums = (parent: string | undefined): AgentSums => ({
  parent,
  running: 0,
  firstAt: Number.POSITIVE_INFINITY,
  lastAt: undefined,
  figures: zeros(),
  byModel: new Map(),
});

class Sums {
  readonly agents = new Map<string, AgentSums>();
  readonly main = newSums(undefined);
  /** The agents that are too many. */
  others: AgentSums | undefined;
  readonly figures = zeros();
  readonly byModel = new Map<string, SessionFigures>();
  readonly byKey = new Map<string, SessionFigures>();
  running = 0;
  firstAt: number | undefined;
  lastAt: number | undefined;
  readonly #agentsMax: number;

  constructor(max: number) {
    this.#agentsMax = max;
  }

  /** The sums of an agent, which are made at its first call. */
  place(agent: string | undefined, parent: string | undefined): AgentSums {
    if (agent === undefined) return this.main;
    const sums = this.agents.get(agent);
    if (sums !== undefined) return sums;
    if (this.agents.size >= this.#agentsMax) {
      this.others ??= newSums(undefined);
      return this.others;
    }
    const made = newSums(parent);
    this.agents.set(agent, made);
    return made;
  }

  addRow(row: SessionRow): void {
    const agent = this.place(row.agent ?? undefined, row.parent_agent ?? undefined);
    this.#note(agent, row.first_at, row.last_at);
    const key = this.byKey.has(row.key_id) || this.byKey.size < keysMax ? row.key_id : otherAgents;
    for (const figures of [
      agent.figures,
      of(agent.byModel, row.model),
      this.figures,
      of(this.byModel, row.model),
      of(this.byKey, key),
    ]) {
      add(figures, row);
    }
  }

  addRunning(agent: AgentSums, calls: number, firstAt: number): void {
    this.#note(agent, firstAt, undefined);
    agent.running += calls;
    this.running += calls;
  }

  toTree(): AgentTree {
    return toAgentTree([...this.agents].map(([agent, { parent }]) => ({ agent, parent })));
  }

  #note(agent: AgentSums, firstAt: number, lastAt: number | undefined): void {
    agent.firstAt = Math.min(agent.firstAt, firstAt);
    this.firstAt = Math.min(this.firstAt ?? firstAt, firstAt);
    if (lastAt === undefined) return;
    agent.lastAt = Math.max(agent.lastAt ?? lastAt, lastAt);
    this.lastAt = Math.max(this.lastAt ?? lastAt, lastAt);
  }
}

async function readSums(
  store: Pick<Store, "db">,
  query: SessionQuery,
  max: number,
): Promise<{ sums: Sums; isComplete: boolean }> {
  const sums = new Sums(max);
  const runningRows = await readRunningCalls(store, query);
  const isComplete = await readSessionRows(store, query, { take: (row) => sums.addRow(row) });
  // Last: the parent of an agent is the one that its first call named.
  for (const { agent, parent_agent: parent, calls, first_at: firstAt } of runningRows) {
    sums.addRunning(sums.place(agent ?? undefined, parent ?? undefined), calls, firstAt);
  }
  return { sums, isComplete };
}

function toBills(sums: Sums): AgentBill[] {
  const { main, agents, others } = sums;
  const bills: (AgentBill & { readonly branch: SessionFigures })[] = [];
  const own = (bill: Pick<AgentBill, "agent" | "parent" | "depth">, agent: AgentSums) => ({
    ...bill,
    running: agent.running,
    firstAt: Number.isFinite(agent.firstAt) ? agent.firstAt : (sums.firstAt ?? 0),
    lastAt: agent.lastAt,
    figures: agent.figures,
    byModel: agent.byModel,
    branch: { ...agent.figures },
    branchRunning: agent.running,
    agentsBelow: 0,
  });
  const root = own({ agent: undefined, parent: undefined, depth: 0 }, main);
  const path: ReturnType<typeof own>[] = [root];
  bills.push(root);
  for (const { agent, parent, depth } of walkTree(sums.toTree())) {
    path.length = depth;
    const bill = own({ agent, parent, depth }, agents.get(agent) as AgentSums);
    for (const above of path) {
      add(above.branch, bill.figures);
      above.branchRunning += bill.running;
      above.agentsBelow += 1;
    }
    path.push(bill);
    bills.push(bill);
  }
  if (others !== undefined) {
    const bill = own({ agent: otherAgents, parent: undefined, depth: 1 }, others);
    add(root.branch, bill.figures);
    root.branchRunning += bill.running;
    root.agentsBelow += 1;
    bills.push(bill);
  }
  return bills;
}

const names = [...counts, ...sessionSums] as const;

function zeros(): SessionFigures {
  return Object.fromEntries(names.map((name) => [name, 0])) as SessionFigures;
}

function of(map: Map<string, SessionFigures>, name: string): SessionFigures {
  let figures = map.get(name);
  if (figures === undefined) {
    figures = zeros();
    map.set(name, figures);
  }
  return figures;
}

function add(sum: SessionFigures, figures: Readonly<SessionFigures>): void {
  for (const name of names) sum[name] += figures[name];
}
