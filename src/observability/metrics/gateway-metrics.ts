import { Gauge, Histogram, type Registry } from "prom-client";
import { type Capability, capabilities, nanodollarsPerUsd } from "../../contract/index.ts";
import { type ClientCall, describeRoutes, type Registry as ModelRegistry } from "../../kernel/index.ts";
import { addCounter, addGauge, addValue, type Sample, type ScrapedMetric } from "./scraped-metrics.ts";

/** State of the running gateway that a scrape reads. */
export interface GatewaySnapshot {
  registry(): ModelRegistry;
  now(): number;
  /** The running calls. */
  running(): Iterable<ClientCall>;
  /** Requests refused so far because of overload or shutdown. */
  shedCount(): number;
  /** Open WebSockets of clients. */
  socketCount(): number;
  providerSocketCount(): number;
  /** Whether the process is shutting down. */
  isDraining(): boolean;
  isSandbox(): boolean;
  /** The database of the ledger. */
  readonly store: "sqlite" | "postgres";
  /** Why the store is unavailable; absent when it is not. */
  storeProblem(): string | undefined;
  /** Whether Redis is reachable; absent when none is configured. */
  readonly isRedisUp: (() => boolean) | undefined;
  /** Figures of this process. */
  node(): NodeFigures;
  /** Counters of modules. */
  readonly counters: readonly ScrapedMetric[];
  /** Sums the wallets below zero; reads all wallets. */
  overdrawn(): Promise<{ accounts: number; nanodollars: number }>;
}

/** Figures of a process; see `NodeReport` of the database. */
interface NodeFigures {
  /** As in `modelgate node list`. */
  readonly id: string;
  readonly version: string;
  readonly spooledCharges: number;
  readonly lastWriteAt?: number | undefined;
  readonly heartbeatAgeMs: number | undefined;
  readonly rollupLagMs: number;
  /** Calls that were cut at the end of a drain. */
  readonly drainCuts: { readonly streams: number; readonly others: number };
}

const routeStates = ["closed", "half_open", "open"] as const;
/** Reading all wallets is slow, so the result is cached. */
const overdrawnTtlMs = 60_000;

/** Adds metrics of models and their routes. */
export function addRouteMetrics(registry: Registry, snapshot: GatewaySnapshot): void {
  addValue(registry, "modelgate_models", "Models that the gateway serves", () => snapshot.registry().size);
  addValue(registry, "modelgate_sandbox", "1 when the sandbox simulates answers", () => (snapshot.isSandbox() ? 1 : 0));
  addGauge(registry, {
    name: "modelgate_route_state",
    help: "1 for the state of the circuit breaker of a route: closed, open or half_open",
    labels: ["model", "plugin", "state"],
    *read(): Iterable<Sample> {
      for (const modelEntry of snapshot.registry().modelEntries) {
        for (const { plugin, state } of describeRoutes(modelEntry, snapshot.now())) {
          for (const each of routeStates)
            yield [{ model: modelEntry.model.id, plugin, state: each }, each === state ? 1 : 0];
        }
      }
    },
  });
  addGauge(registry, {
    name: "modelgate_model_retires_timestamp_seconds",
    help: "When the provider retires a model, seconds since 1970; absent for models without a date",
    labels: ["model", "plugin"],
    *read(): Iterable<Sample> {
      for (const { routes } of snapshot.registry().modelEntries) {
        for (const { model, plugin } of routes) {
          if (model.retiredOn === undefined) continue;
          yield [{ model: model.id, plugin: plugin.name }, Date.parse(model.retiredOn) / 1000];
        }
      }
    },
  });
}

/** Counts the transactions of the ledger: writes, duration and pending writes. */
export function addCommitMetrics(registry: Registry): (writes: number, ms: number, pending: number) => void {
  const registers = [registry];
  const seconds = new Histogram({
    name: "modelgate_ledger_commit_seconds",
    help: "Duration of a transaction of holds and charges",
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
    help: "Ended calls that are not written yet; writing is retried",
    registers,
  });
  return (writes, ms, pending) => {
    seconds.observe(ms / 1000);
    sizes.observe(writes);
    waiting.set(pending);
  };
}

/** Adds metrics of running and refused calls. */
export function addLoadMetrics(registry: Registry, snapshot: GatewaySnapshot): void {
  addGauge(registry, {
    name: "modelgate_calls_running",
    help: "Running calls",
    labels: ["capability"],
    read() {
      const running = new Map<Capability, number>(capabilities.map((name) => [name, 0]));
      for (const {
        request: { capability },
      } of snapshot.running())
        running.set(capability, (running.get(capability) ?? 0) + 1);
      return Array.from(running, ([capability, count]) => [{ capability }, count] as const);
    },
  });
  addValue(registry, "modelgate_held_usd", "Held in wallets for the running calls of this process", () => {
    const holds = Array.from(snapshot.running(), ({ run }) => run?.hold?.heldNanodollars ?? 0);
    return holds.reduce((sum, count) => sum + count, 0) / nanodollarsPerUsd;
  });
  addCounter(registry, {
    name: "modelgate_requests_shed_total",
    help: "Requests refused because of overload or shutdown",
    read: () => [[{}, snapshot.shedCount()]],
  });
  addValue(registry, "modelgate_websockets", "Open WebSockets of clients", () => snapshot.socketCount());
  addValue(registry, "modelgate_provider_websockets", "WebSockets to providers that are kept between turns", () =>
    snapshot.providerSocketCount(),
  );
  addValue(registry, "modelgate_draining", "1 while the process shuts down and lets calls finish", () =>
    snapshot.isDraining() ? 1 : 0,
  );
}

/** Adds metrics of the database and Redis. */
export function addStoreMetrics(registry: Registry, snapshot: GatewaySnapshot): void {
  addGauge(registry, {
    name: "modelgate_store_up",
    help: "1 while the ledger can be written",
    labels: ["store"],
    read: () => [[{ store: snapshot.store }, snapshot.storeProblem() === undefined ? 1 : 0]],
  });
  addGauge(registry, {
    name: "modelgate_redis_up",
    help: "1 while Redis is reachable, 0 while it is not; absent without REDIS_URL",
    labels: ["use"],
    read: () => (snapshot.isRedisUp === undefined ? [] : [[{ use: "ledger" }, snapshot.isRedisUp() ? 1 : 0]]),
  });
  addOverdrawn(registry, snapshot);
}

/** Adds metrics that place this process among the processes of its database. */
export function addNodeMetrics(registry: Registry, snapshot: GatewaySnapshot): void {
  const seconds = (ms: number | undefined): Sample[] => (ms === undefined ? [] : [[{}, ms / 1000]]);
  addGauge(registry, {
    name: "modelgate_node_info",
    help: "Always 1; the id of the process in modelgate node list and its version are in the labels",
    labels: ["node", "version"],
    read() {
      const { id: node, version } = snapshot.node();
      return [[{ node, version }, 1]];
    },
  });
  addValue(
    registry,
    "modelgate_spooled_charges",
    "Charges that wait on the disk of the process",
    () => snapshot.node().spooledCharges,
  );
  addGauge(registry, {
    name: "modelgate_last_write_timestamp_seconds",
    help: "When the database last took a hold or a charge, seconds since 1970; absent before the first",
    read: () => seconds(snapshot.node().lastWriteAt),
  });
  addGauge(registry, {
    name: "modelgate_heartbeat_age_seconds",
    help: "Time since the process last wrote its heartbeat; absent before the first",
    read: () => seconds(snapshot.node().heartbeatAgeMs),
  });
  addGauge(registry, {
    name: "modelgate_rollup_lag_seconds",
    help: "How long a call that has ended has waited to be added to the sums of usage; 0: none waits",
    read: () => seconds(snapshot.node().rollupLagMs),
  });
  addCounter(registry, {
    name: "modelgate_drain_cut_calls_total",
    help: "Calls that the shutdown ended because they took longer than DRAIN_SECONDS",
    labels: ["stream"],
    read() {
      const { streams, others } = snapshot.node().drainCuts;
      return [
        [{ stream: "true" }, streams],
        [{ stream: "false" }, others],
      ];
    },
  });
}

function addOverdrawn(registry: Registry, snapshot: GatewaySnapshot): void {
  let readAtMs = Number.NEGATIVE_INFINITY;
  let overdrawnAccounts: ReturnType<GatewaySnapshot["overdrawn"]> | undefined;
  const read = async () => {
    if (overdrawnAccounts === undefined || snapshot.now() - readAtMs >= overdrawnTtlMs) {
      readAtMs = snapshot.now();
      overdrawnAccounts = snapshot.overdrawn();
    }
    // modelgate_store_up reports that the ledger cannot be read.
    return overdrawnAccounts.catch(() => undefined);
  };
  const line = (amount: number | undefined): Sample[] => (amount === undefined ? [] : [[{}, amount]]);
  addGauge(registry, {
    name: "modelgate_overdrawn_accounts",
    help: "Accounts whose wallet is below zero; updated once a minute",
    read: async () => line((await read())?.accounts),
  });
  addGauge(registry, {
    name: "modelgate_overdrawn_usd",
    help: "Total amount of negative wallet balances",
    read: async () => {
      const overdrawn = await read();
      return line(overdrawn && overdrawn.nanodollars / nanodollarsPerUsd);
    },
  });
}

/** Adds the metric of dropped log lines. */
export function addLogMetrics(registry: Registry, log: { readonly dropped: number }): void {
  addCounter(registry, {
    name: "modelgate_log_lines_dropped_total",
    help: "Log lines dropped because standard error was blocked",
    read: () => [[{}, log.dropped]],
  });
}
