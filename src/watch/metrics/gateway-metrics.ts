import type { Registry } from "prom-client";
import { nanodollarsPerUsd } from "../../contract/index.ts";
import { describeRoutes } from "../../kernel/index.ts";
import type { CommitCounts } from "../commit-counts.ts";
import type { Facts } from "../facts.ts";
import type { SpanCounts } from "../traces/span-queue.ts";
import { addCounter, addGauge, addHistogram, type Sample } from "./samples.ts";

const routeStates = ["ready", "probing", "resting"] as const;
/** Wallets are all looked at for this, so not at each scrape. */
const overdrawnMs = 60_000;

/** What is on sale, and how each way to it is. */
export function addRouteMetrics(registry: Registry, facts: Facts): void {
  addGauge(registry, {
    name: "modelgate_models",
    help: "Models on sale",
    read: () => [[{}, facts.registry().size]],
  });
  addGauge(registry, {
    name: "modelgate_sandbox",
    help: "1 when answers are simulated",
    read: () => [[{}, facts.isSandbox() ? 1 : 0]],
  });
  addGauge(registry, {
    name: "modelgate_route_state",
    help: "1 for the state that a route is in: ready, resting after faults, or probing",
    labels: ["model", "plugin", "state"],
    *read(): Iterable<Sample> {
      for (const offer of facts.registry().offers) {
        for (const { plugin, state } of describeRoutes(offer, facts.now())) {
          for (const each of routeStates)
            yield [{ model: offer.model.id, plugin, state: each }, each === state ? 1 : 0];
        }
      }
    },
  });
  addGauge(registry, {
    name: "modelgate_model_retires_timestamp_seconds",
    help: "When a provider retires a model on sale, seconds since 1970; models without a date have no line",
    labels: ["model", "plugin"],
    *read(): Iterable<Sample> {
      for (const { routes } of facts.registry().offers) {
        for (const { model, plugin } of routes) {
          if (model.retiredOn === undefined) continue;
          yield [{ model: model.id, plugin: plugin.name }, Date.parse(model.retiredOn) / 1000];
        }
      }
    },
  });
}

/** The books, and what they stand on. */
export function addBookMetrics(registry: Registry, commits: CommitCounts, facts: Facts): void {
  addHistogram(registry, {
    name: "modelgate_ledger_commit_seconds",
    help: "How long a transaction of holds and charges took",
    scale: 1e-3,
    read: () => [[{}, commits.ms]],
  });
  addHistogram(registry, {
    name: "modelgate_ledger_commit_writes",
    help: "Holds and charges written in one transaction",
    scale: 1,
    read: () => [[{}, commits.writes]],
  });
  addGauge(registry, {
    name: "modelgate_ledger_unwritten",
    help: "Ends of calls that could not be written so far; they are kept and tried again",
    read: () => [[{}, commits.unwritten]],
  });
  addGauge(registry, {
    name: "modelgate_store_up",
    help: "1 while the books can be written",
    labels: ["store"],
    read: () => [[{ store: facts.store }, facts.storeTrouble() === undefined ? 1 : 0]],
  });
  addGauge(registry, {
    name: "modelgate_redis_up",
    help: "1 while Redis is in use, 0 while it cannot be; no line without REDIS_URL",
    labels: ["use"],
    read: () => (facts.isRedisUp === undefined ? [] : [[{ use: "ledger" }, facts.isRedisUp() ? 1 : 0]]),
  });
  addOverdrawn(registry, facts);
}

function addOverdrawn(registry: Registry, facts: Facts): void {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let known: ReturnType<Facts["overdrawn"]> | undefined;
  const read = async () => {
    if (known === undefined || facts.now() - readAtMs >= overdrawnMs) {
      readAtMs = facts.now();
      known = facts.overdrawn();
    }
    // Books that cannot be read say nothing about wallets, and modelgate_store_up says so.
    return known.catch(() => undefined);
  };
  const line = (amount: number | undefined): Sample[] => (amount === undefined ? [] : [[{}, amount]]);
  addGauge(registry, {
    name: "modelgate_overdrawn_accounts",
    help: "Accounts whose wallet is below zero; looked up once a minute",
    read: async () => line((await read())?.accounts),
  });
  addGauge(registry, {
    name: "modelgate_overdrawn_usd",
    help: "By how much these wallets are below zero in all",
    read: async () => {
      const overdrawn = await read();
      return line(overdrawn && overdrawn.nanodollars / nanodollarsPerUsd);
    },
  });
}

/** What watching itself had to leave out. */
export function addLogMetrics(
  registry: Registry,
  log: { readonly dropped: number },
  spans: SpanCounts | undefined,
): void {
  addCounter(registry, {
    name: "modelgate_log_lines_dropped_total",
    help: "Log lines dropped because standard error took no more",
    read: () => [[{}, log.dropped]],
  });
  addCounter(registry, {
    name: "modelgate_spans_total",
    help: "Spans by what became of them: exported, failed (the collector did not take them) or dropped (too many waited)",
    labels: ["outcome"],
    *read(): Iterable<Sample> {
      if (spans === undefined) return;
      for (const outcome of ["exported", "failed", "dropped"] as const) yield [{ outcome }, spans[outcome]];
    },
  });
}
