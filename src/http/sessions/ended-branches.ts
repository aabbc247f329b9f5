import { GatewayError } from "../../contract/index.ts";
import type { Store } from "../../db/index.ts";
import type { ClientCall, LoadShedder } from "../../kernel/index.ts";
import { readBranch } from "../../reports/index.ts";
import { type Branch, type EndedBranch, listEndedBranches } from "../../tenants/index.ts";

/** The parts of a session that were ended. */
interface EndedSession {
  /** When the refusal of the whole session ends; 0: only some of its agents are refused. */
  wholeUntil: number;
  /** Agents by when the refusal of their calls, and of agents that they start, ends. */
  readonly agents: Map<string, number>;
  /** Agents that call an ended one their parent and are not below it. */
  readonly spared: Set<string>;
}

/** The names of a call. */
type CallNames = {
  readonly caller: { readonly accountId: string };
  readonly session?: string | undefined;
  readonly agent?: string | undefined;
  readonly parentAgent?: string | undefined;
};

/** Agents of an ended session that are known by name; a session of more refuses only these. */
const agentsMax = 20_000;

/**
 * Ends the running calls of branches that this or another gateway ended, and refuses their next ones. Calls that run are ended as an
 * operator ends them: what the provider has served is owed.
 */
export class EndedBranches {
  readonly #store: Store;
  readonly #loadShedder: LoadShedder;
  readonly #now: () => number;
  readonly #sessions = new Map<string, EndedSession>();
  /** When the branches that this process knows were ended. */
  #endedAt: ReadonlyMap<string, number> = new Map();
  #revision: number | undefined;
  #loading: Promise<void> = Promise.resolve();

  constructor({ store, loadShedder, now }: { store: Store; loadShedder: LoadShedder; now: () => number }) {
    this.#store = store;
    this.#loadShedder = loadShedder;
    this.#now = now;
  }

  /** Takes over what the database has, if something changed there, and ends what runs of it. */
  load(): Promise<void> {
    // One after the other: a second caller waits for what the first one ends.
    this.#loading = this.#loading.catch(() => undefined).then(() => this.#load());
    return this.#loading;
  }

  /** @throws {GatewayError} `session_ended` */
  expectOpen({ caller, session, agent, parentAgent }: CallNames): void {
    if (this.#sessions.size === 0 || session === undefined) return;
    const ended = this.#sessions.get(toKey(caller.accountId, session));
    if (ended === undefined) return;
    const now = this.#now();
    if (ended.wholeUntil > now) throw endedError({ session, agent: undefined }, ended.wholeUntil);
    if (agent === undefined) return;
    const until = ended.agents.get(agent) ?? untilOfParent(ended, agent, parentAgent);
    if (until === undefined || until <= now) return;
    // An agent that an ended one has started is below it, and so are those that it starts.
    if (ended.agents.size < agentsMax) ended.agents.set(agent, until);
    throw endedError({ session, agent }, until);
  }

  async #load(): Promise<void> {
    const { revision } = this.#store;
    if (revision === this.#revision) return;
    const branches = await listEndedBranches(this.#store, this.#now());
    const endedAt = new Map<string, number>();
    const names = new Set<string>();
    for (const branch of branches) {
      const key = toKey(branch.accountId, branch.session);
      names.add(key);
      const name = `${key}\n${branch.agent ?? ""}`;
      if (this.#endedAt.get(name) !== branch.endedAt) await this.#end(branch);
      endedAt.set(name, branch.endedAt);
    }
    for (const key of this.#sessions.keys()) if (!names.has(key)) this.#sessions.delete(key);
    this.#endedAt = endedAt;
    this.#revision = revision;
  }

  async #end(branch: EndedBranch): Promise<void> {
    const { accountId, session, agent, refusedUntil } = branch;
    const key = toKey(accountId, session);
    const ended = this.#sessions.get(key) ?? { wholeUntil: 0, agents: new Map(), spared: new Set() };
    this.#sessions.set(key, ended);
    if (agent === undefined) {
      ended.wholeUntil = refusedUntil;
      endCalls(runningOf(this.#loadShedder, branch), branch, refusedUntil);
      return;
    }
    // It is refused from now on, what is below it once that is found.
    ended.agents.set(agent, refusedUntil);
    const below = await readBranch(this.#store, branch, requestsOf(runningOf(this.#loadShedder, branch)));
    for (const name of below?.agents ?? []) if (ended.agents.size < agentsMax) ended.agents.set(name, refusedUntil);
    for (const spared of below?.spared ?? []) ended.spared.add(spared);
    const isEnded = ({ request }: ClientCall) => {
      const { agent: name, parentAgent } = request;
      if (name === undefined) return false;
      return ended.agents.has(name) || untilOfParent(ended, name, parentAgent) !== undefined;
    };
    endCalls([...runningOf(this.#loadShedder, branch)].filter(isEnded), branch, refusedUntil);
  }
}

/** The agents of calls that run here, which may not be in the database yet. */
export function requestsOf(calls: Iterable<ClientCall>): ClientCall["request"][] {
  return [...calls].map(({ request }) => request);
}

/** The calls of a session that run in this process. */
export function* runningOf(
  { running }: LoadShedder,
  { accountId, session }: Pick<Branch, "accountId" | "session">,
): Generator<ClientCall> {
  for (const call of running) {
    const { caller, session: name } = call.request;
    if (caller.accountId === accountId && name === session) yield call;
  }
}

function endCalls(calls: Iterable<ClientCall>, branch: Branch, until: number): void {
  const error = endedError(branch, until);
  // A call that ends leaves the set.
  for (const call of [...calls]) call.endWith(error);
}

function untilOfParent({ agents, spared }: EndedSession, agent: string, parent: string | undefined) {
  return parent === undefined || spared.has(agent) ? undefined : agents.get(parent);
}

function toKey(accountId: string, session: string): string {
  return `${accountId}\n${session}`;
}

function endedError({ session, agent }: Pick<Branch, "session" | "agent">, until: number): GatewayError {
  const name = agent === undefined ? `The session ${session}` : `The agent ${agent} of the session ${session}`;
  const time = new Date(until).toISOString();
  return new GatewayError(
    "session_ended",
    `${name} was ended by its account or an operator; its calls are refused until ${time}`,
  );
}
