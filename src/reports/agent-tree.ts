/** An agent of a session, as far as its place in the tree goes. */
interface Placed {
  readonly agent: string;
  /** The agent that started it, by its first call; absent: the session itself. */
  readonly parent: string | undefined;
}

/** Agents by the agent that started them; `undefined` has those that hang at the root. Each list is in the order of the agents. */
export type AgentTree = ReadonlyMap<string | undefined, readonly string[]>;

/**
 * Makes a tree of what clients say of their agents. An agent hangs at the root if nobody knows its parent, and so does every agent of a
 * circle; agents below a circle stay where they are.
 */
export function toAgentTree(agents: readonly Placed[]): AgentTree {
  const parents = new Map(agents.map(({ agent, parent }) => [agent, parent]));
  const inCircle = findCircles(parents);
  const tree = new Map<string | undefined, string[]>();
  for (const { agent, parent } of agents) {
    const place = parent === undefined || inCircle.has(agent) || !parents.has(parent) ? undefined : parent;
    const children = tree.get(place);
    if (children === undefined) tree.set(place, [agent]);
    else children.push(agent);
  }
  return tree;
}

/** The agents that are their own ancestors. */
function findCircles(parents: ReadonlyMap<string, string | undefined>): ReadonlySet<string> {
  const inCircle = new Set<string>();
  const seen = new Set<string>();
  for (const start of parents.keys()) {
    const path: string[] = [];
    const places = new Map<string, number>();
    let agent: string | undefined = start;
    while (agent !== undefined && parents.has(agent) && !seen.has(agent)) {
      seen.add(agent);
      places.set(agent, path.length);
      path.push(agent);
      agent = parents.get(agent);
    }
    const place = agent === undefined ? undefined : places.get(agent);
    if (place !== undefined) for (const member of path.slice(place)) inCircle.add(member);
  }
  return inCircle;
}

/** Runs through the agents below one, or below the root, each before those that it started. */
export function* walkTree(
  tree: AgentTree,
  root: string | undefined = undefined,
): Generator<{ readonly agent: string; readonly parent: string | undefined; readonly depth: number }> {
  const waiting = [{ parent: root, children: tree.get(root) ?? [], next: 0 }];
  while (waiting.length > 0) {
    const level = waiting.at(-1) as (typeof waiting)[number];
    const agent = level.children[level.next++];
    if (agent === undefined) {
      waiting.pop();
      continue;
    }
    yield { agent, parent: level.parent, depth: waiting.length };
    waiting.push({ parent: agent, children: tree.get(agent) ?? [], next: 0 });
  }
}
