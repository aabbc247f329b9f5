import type { Registry } from "prom-client";
import { type Capability, capabilities, type MeterName, nanodollarsPerUsd } from "../../contract/index.ts";
import { type CallCounts, type CallSeries, callStates } from "../call-counts.ts";
import type { Facts } from "../facts.ts";
import { addCounter, addGauge, addHistogram, type Sample } from "./samples.ts";

const ofCall = ["capability", "model", "plugin"] as const;

/** What a meter is called in a metric, and how many of it make one of that. */
const tokens: Partial<Record<MeterName, string>> = {
  inputToken: "input",
  cacheReadToken: "cache_read",
  cacheWriteToken: "cache_write",
  outputToken: "output",
};
const units: Partial<Record<MeterName, readonly [unit: string, per: number]>> = {
  image: ["images", 1],
  audioMs: ["audio_seconds", 1000],
  character: ["characters", 1],
  call: ["calls", 1],
};

const labelsOf = ({ capability, model, plugin }: CallSeries) => ({ capability, model, plugin });

/** How many calls, how they ended, how long they took. */
export function addCallMetrics(registry: Registry, counts: CallCounts): void {
  const each = <Value>(read: (series: CallSeries) => Value) =>
    counts.calls.map((series) => [labelsOf(series), read(series)] as const);
  addCounter(registry, {
    name: "modelgate_calls_total",
    help: "Calls that ended, by HTTP status (499: the client left) and by what the books made of them",
    labels: [...ofCall, "status", "state"],
    *read(): Iterable<Sample> {
      for (const series of counts.calls) {
        for (const [end, count] of series.ends) {
          const state = callStates[end % 4] as string;
          yield [{ ...labelsOf(series), status: String(Math.floor(end / 4)), state }, count];
        }
      }
    },
  });
  addHistogram(registry, {
    name: "modelgate_call_duration_seconds",
    help: "From the request to the last byte of its answer",
    labels: ofCall,
    scale: 1e-3,
    read: () => each(({ durationMs }) => durationMs),
  });
  addHistogram(registry, {
    name: "modelgate_call_first_byte_seconds",
    help: "From the request to the first piece of a streamed answer",
    labels: ofCall,
    scale: 1e-3,
    read: () => each(({ firstByteMs }) => firstByteMs).filter(([, { count }]) => count > 0),
  });
  addCounter(registry, {
    name: "modelgate_call_errors_total",
    help: "Calls that ended with an error, by its code, also inside a stream",
    labels: ["code"],
    read: () => byName("code", counts.errors),
  });
  addCounter(registry, {
    name: "modelgate_error_answers_total",
    help: "Answers of any endpoint that were an error, by its code",
    labels: ["code"],
    read: () => byName("code", counts.refusals),
  });
}

/** Calls on their way, and what never became one. */
export function addDoorMetrics(registry: Registry, facts: Facts): void {
  addGauge(registry, {
    name: "modelgate_calls_running",
    help: "Calls on their way",
    labels: ["capability"],
    read() {
      const running = new Map<Capability, number>(capabilities.map((name) => [name, 0]));
      for (const { capability } of facts.running()) running.set(capability, (running.get(capability) ?? 0) + 1);
      return byName("capability", running);
    },
  });
  addGauge(registry, {
    name: "modelgate_held_usd",
    help: "Held in wallets for the calls on their way, those of this process",
    read() {
      let held = 0;
      for (const { progress } of facts.running()) if (progress.hold) held += progress.hold.heldNanodollars;
      return [[{}, held / nanodollarsPerUsd]];
    },
  });
  addCounter(registry, {
    name: "modelgate_turned_away_total",
    help: "Requests refused at the door, because there was too much to do or the process ends",
    read: () => [[{}, facts.turnedAway()]],
  });
  addGauge(registry, {
    name: "modelgate_leaving",
    help: "1 while the process comes to its end and lets calls finish",
    read: () => [[{}, facts.isLeaving() ? 1 : 0]],
  });
}

/** What the providers were asked. */
export function addAttemptMetrics(registry: Registry, counts: CallCounts): void {
  addCounter(registry, {
    name: "modelgate_upstream_attempts_total",
    help: "Attempts at providers, by outcome: answered, or the kind of the fault",
    labels: ["plugin", "outcome"],
    *read(): Iterable<Sample> {
      for (const { plugin, outcomes } of counts.attempts.values()) {
        for (const [outcome, count] of outcomes) yield [{ plugin, outcome }, count];
      }
    },
  });
  addHistogram(registry, {
    name: "modelgate_upstream_duration_seconds",
    help: "From an attempt's begin until the provider answers: with the whole answer, or a stream's first piece",
    labels: ["plugin"],
    scale: 1e-3,
    read: () => [...counts.attempts.values()].map(({ plugin, durationMs }) => [{ plugin }, durationMs] as const),
  });
}

/** What calls used and cost. */
export function addUsageMetrics(registry: Registry, counts: CallCounts, facts: Facts): void {
  const ofModel = ["model", "plugin"] as const;
  const pairOf = ({ model, plugin }: CallSeries) => ({ model, plugin });
  addCounter(registry, {
    name: "modelgate_tokens_total",
    help: "Tokens used; a cached token is not also an input token",
    labels: [...ofModel, "type"],
    read: () => used(counts, (name) => (tokens[name] === undefined ? undefined : [{ type: tokens[name] }, 1])),
  });
  addCounter(registry, {
    name: "modelgate_units_total",
    help: "Other units used: images, audio seconds, characters, calls",
    labels: [...ofModel, "unit"],
    read: () => used(counts, (name) => units[name] && [{ unit: units[name][0] }, units[name][1]]),
  });
  addCounter(registry, {
    name: "modelgate_cost_usd_total",
    help: "List price of what was used, also of calls on the free quota",
    labels: ofModel,
    read: () => admitted(counts).map((series) => [pairOf(series), series.costNanodollars / nanodollarsPerUsd]),
  });
  addCounter(registry, {
    name: "modelgate_usage_total",
    help: "Admitted calls by where their usage is from: reported by the provider, estimated here, or none",
    labels: [...ofModel, "source"],
    *read(): Iterable<Sample> {
      for (const series of counts.calls) {
        for (const source of ["reported", "estimated", "none"] as const) {
          if (series[source] > 0) yield [{ ...pairOf(series), source }, series[source]];
        }
      }
    },
  });
  addCounter(registry, {
    name: "modelgate_zero_cost_calls_total",
    help: "Calls that used something and cost nothing or an unknown sum; of a premium model there must be none",
    labels: [...ofModel, "premium"],
    read: () =>
      admitted(counts).map((series) => {
        const model = facts.registry().byName(series.model)?.model;
        return [
          { ...pairOf(series), premium: model === undefined ? "unknown" : String(model.premium) },
          series.withoutCost,
        ];
      }),
  });
  addCounter(registry, {
    name: "modelgate_calls_beyond_hold_total",
    help: "Premium calls that cost more than was held for them",
    labels: ofModel,
    read: () => admitted(counts).map((series) => [pairOf(series), series.beyondHold]),
  });
}

/** Those of which the books know. */
function admitted({ calls }: CallCounts): CallSeries[] {
  return calls.filter(({ reported, estimated, none }) => reported + estimated + none > 0);
}

function* used(
  counts: CallCounts,
  labelOf: (name: MeterName) => readonly [Record<string, string>, number] | undefined,
): Iterable<Sample> {
  for (const { model, plugin, meters } of counts.calls) {
    for (const [name, amount] of Object.entries(meters) as [MeterName, number][]) {
      const label = amount === 0 ? undefined : labelOf(name);
      if (label !== undefined) yield [{ model, plugin, ...label[0] }, amount / label[1]];
    }
  }
}

function byName(label: string, counts: ReadonlyMap<string, number>): Sample[] {
  return Array.from(counts, ([name, count]) => [{ [label]: name }, count] as const);
}
