import { describe, expect, test } from "bun:test";
import { toAgentTree, walkTree } from "../../../src/reports/agent-tree.ts";
import { randomBelow } from "../../support/random.ts";

const walk = (agents: [agent: string, parent?: string][], root?: string) =>
  [...walkTree(toAgentTree(agents.map(([agent, parent]) => ({ agent, parent }))), root)].map(
    ({ agent, parent, depth }) => `${depth} ${parent ?? ""}>${agent}`,
  );

describe("a tree of agents", () => {
  test("has each agent below the one that started it, in the order in which they came", () => {
    expect(walk([["a"], ["b", "a"], ["c"], ["d", "b"], ["e", "a"]])).toEqual([
      "1 >a",
      "2 a>b",
      "3 b>d",
      "2 a>e",
      "1 >c",
    ]);
  });

  test("has an agent at the root whose parent nobody knows", () => {
    expect(
      walk([
        ["a", "gone"],
        ["b", "a"],
      ]),
    ).toEqual(["1 >a", "2 a>b"]);
  });

  test("has all agents of a circle at the root, and those below it where they are", () => {
    expect(
      walk([
        ["below", "a"],
        ["a", "b"],
        ["b", "c"],
        ["c", "a"],
        ["self", "self"],
      ]),
    ).toEqual(["1 >a", "2 a>below", "1 >b", "1 >c", "1 >self"]);
  });

  test("is walked from one agent down", () => {
    const agents: [string, string?][] = [["a"], ["b", "a"], ["c", "b"], ["d"]];
    expect(walk(agents, "a")).toEqual(["1 a>b", "2 b>c"]);
    expect(walk(agents, "c")).toEqual([]);
  });

  test("of ten thousand agents in a row is walked", () => {
    const chain = Array.from({ length: 10_000 }, (_, place): [string, string?] => [`a${place}`, `a${place - 1}`]);
    expect(walk(chain.reverse())).toHaveLength(10_000);
  });

  test("has every agent once, whatever clients say of their parents", () => {
    const below = randomBelow(7);
    for (let round = 0; round < 300; round++) {
      const size = 1 + below(12);
      // Some parents are unknown, some come later, and some make a circle.
      const agents = Array.from({ length: size }, (_, place): [string, string?] => {
        const parent = below(size + 3);
        return parent === size ? [`a${place}`] : [`a${place}`, `a${parent}`];
      });
      const names = [...walkTree(toAgentTree(agents.map(([agent, parent]) => ({ agent, parent }))))].map(
        ({ agent }) => agent,
      );
      expect([agents, names.toSorted()]).toEqual([agents, agents.map(([agent]) => agent).toSorted()]);
    }
  });
});
