import { listNodes, type ServingNode } from "../../db/index.ts";
import { defineCommand } from "../command.ts";
import { columns, toIsoTime } from "../lib/format.ts";
import { withStore } from "../lib/with-store.ts";

const headings = [
  "node",
  "name",
  "version",
  "state",
  "up",
  "calls",
  "charges waiting",
  "on disk",
  "written",
  "sums late",
];

export const nodeList = defineCommand({
  name: "node list",
  description:
    "List the gateways that serve from this database: version, uptime, running calls, unwritten charges, lag",
  flags: {},
  args: [],
  example: "node list",
  async run(_context, { config, now }) {
    const nodes = await withStore(config, ({ store }) => listNodes(store, now), now);
    const empty = "No gateway serves from this database";
    const text = nodes.length === 0 ? empty : columns([headings, ...nodes.map((node) => toCells(node, now))]);
    return { json: nodes.map((node) => toNodeJson(node, now)), text };
  },
});

function toCells(node: ServingNode, now: number): string[] {
  const { startedAt, calls, waitingCharges, spooledCharges, lastWriteAt, rollupLagMs } = node;
  const figures = [calls, waitingCharges, spooledCharges].map(String);
  const written = lastWriteAt === undefined ? "never" : `${toDuration(now - lastWriteAt)} ago`;
  return [
    ...[node.id, node.name, node.version, describeState(node), toDuration(now - startedAt)],
    ...[...figures, written, toDuration(rollupLagMs)],
  ];
}

function toNodeJson(node: ServingNode, now: number) {
  return {
    id: node.id,
    name: node.name,
    version: node.version,
    state: node.state,
    started_at: toIsoTime(node.startedAt),
    uptime_seconds: toSeconds(now - node.startedAt),
    heartbeat_age_seconds: toSeconds(node.silentMs),
    open_calls: node.calls,
    waiting_charges: node.waitingCharges,
    spooled_charges: node.spooledCharges,
    last_write_at: toIsoTime(node.lastWriteAt),
    rollup_lag_seconds: toSeconds(node.rollupLagMs),
  };
}

function describeState({ state, silentMs }: ServingNode): string {
  return state === "silent" ? `silent for ${toDuration(silentMs)}` : state;
}

/** Seconds; 0 where the clock of another machine is ahead. */
function toSeconds(ms: number): number {
  return Math.max(0, Math.round(ms / 1000));
}

/** A duration by its two largest units, such as `3d 4h`. */
function toDuration(ms: number): string {
  const seconds = toSeconds(ms);
  const units = [
    ["d", Math.floor(seconds / 86_400)],
    ["h", Math.floor(seconds / 3600) % 24],
    ["m", Math.floor(seconds / 60) % 60],
    ["s", seconds % 60],
  ] as const;
  const first = units.findIndex(([, count]) => count > 0);
  if (first === -1) return "0s";
  return units
    .slice(first, first + 2)
    .filter(([, count]) => count > 0)
    .map(([unit, count]) => `${count}${unit}`)
    .join(" ");
}
