import { Gauge, Histogram, type Registry } from "prom-client";
import { type Capability, capabilities, nanodollarsPerUsd } from "../../contract/index.ts";
import { describeRoutes } from "../../kernel/index.ts";
import type { GatewaySnapshot } from "../gateway-snapshot.ts";
import type { SpanCounts } from "../traces/span-queue.ts";
import { addCounter, addGauge, type Sample } from "./samples.ts";

const routeStates = ["closed", "half_open", "open"] as const;
/** Wallets are all looked at for this, so not at each scrape. */
const overdrawnMs = 60_000;

/** What is on sale, and how each way to it is. */
export function addRouteMetrics(registry: Registry, facts: GatewaySnapshot): void {
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
    help: "1 for the state of the circuit breaker of a route: closed, open or half_open",
    labels: ["model", "plugin", "state"],
    *read(): Iterable<Sample> {
      for (const modelEntry of facts.registry().offers) {
        for (const { plugin, state } of describeRoutes(modelEntry, facts.now())) {
          for (const each of routeStates)
            yield [{ model: modelEntry.model.id, plugin, state: each }, each === state ? 1 : 0];
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

/** Counts the transactions of the ledger: how many writes each had, how long it took, how many ends of calls wait. */
export function addCommitMetrics(registry: Registry): (writes: number, ms: number, unwritten: number) => void {
  const registers = [registry];
  const seconds = new Histogram({
    name: "modelgate_ledger_commit_seconds",
    help: "How long a transaction of holds and charges took",
    buckets: [0.0001, 0.00025, 0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1],
    registers,
  });
  const sizes = new Histogram({
    name: "modelgate_ledger_commit_writes",
    help: "Holds and charges written in one transaction",
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
    registers,
  });
  const waiting = new Gauge({
    name: "modelgate_pending_writes",
    help: "Ends of calls that could not be written so far; they are kept and tried again",
    registers,
  });
  return (writes, ms, unwritten) => {
    seconds.observe(ms / 1000);
    sizes.observe(writes);
    waiting.set(unwritten);
  };
}

/** Calls on their way, and what was refused before it became one. */
export function addLoadMetrics(registry: Registry, facts: GatewaySnapshot): void {
  addGauge(registry, {
    name: "modelgate_calls_running",
    help: "Calls on their way",
    labels: ["capability"],
    read() {
      const running = new Map<Capability, number>(capabilities.map((name) => [name, 0]));
      for (const { capability } of facts.running()) running.set(capability, (running.get(capability) ?? 0) + 1);
      return Array.from(running, ([capability, count]) => [{ capability }, count] as const);
    },
  });
  addGauge(registry, {
    name: "modelgate_held_usd",
    help: "Held in wallets for the calls on their way, those of this process",
    read() {
      let held = 0;
      for (const { hold } of facts.running()) if (hold !== undefined) held += hold.heldNanodollars;
      return [[{}, held / nanodollarsPerUsd]];
    },
  });
  addCounter(registry, {
    name: "modelgate_requests_shed_total",
    help: "Requests refused at the door, because there was too much to do or the process ends",
    read: () => [[{}, facts.turnedAway()]],
  });
  addGauge(registry, {
    name: "modelgate_draining",
    help: "1 while the process comes to its end and lets calls finish",
    read: () => [[{}, facts.isLeaving() ? 1 : 0]],
  });
}

/** What the ledger stands on. */
export function addStoreMetrics(registry: Registry, facts: GatewaySnapshot): void {
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

function addOverdrawn(registry: Registry, facts: GatewaySnapshot): void {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let known: ReturnType<GatewaySnapshot["overdrawn"]> | undefined;
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
