import { Counter, Gauge, Histogram, type Registry } from "prom-client";
import type { Buckets } from "../buckets.ts";

export type Labels = Readonly<Record<string, string>>;
/** One line: its labels and its value. */
export type Sample = readonly [labels: Labels, value: number];

/** A metric that is read when it is asked for, and not before. */
interface Read<Value> {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  read(): Iterable<readonly [Labels, Value]> | Promise<Iterable<readonly [Labels, Value]>>;
}

export function addCounter(registry: Registry, { name, help, labels = [], read }: Read<number>): void {
  new Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect() {
      const samples = await read();
      this.reset();
      for (const [of, value] of samples) this.inc(of, value);
    },
  });
}

export function addGauge(registry: Registry, { name, help, labels = [], read }: Read<number>): void {
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect() {
      const samples = await read();
      this.reset();
      for (const [of, value] of samples) this.set(of, value);
    },
  });
}

/** A histogram of what was counted elsewhere; `scale` turns its unit into that of the metric. */
export function addHistogram(registry: Registry, metric: Read<Buckets> & { readonly scale: number }): void {
  registry.registerMetric(new ReadHistogram(metric));
}

class ReadHistogram extends Histogram {
  readonly #metric: Read<Buckets> & { readonly scale: number };

  constructor(metric: Read<Buckets> & { readonly scale: number }) {
    super({ name: metric.name, help: metric.help, labelNames: metric.labels ?? [], registers: [] });
    this.#metric = metric;
  }

  /** What the registry asks for, before `get`. */
  async getForPromString() {
    const { name, help, scale, read } = this.#metric;
    const values: { metricName: string; labels: Record<string, string>; value: number }[] = [];
    for (const [labels, buckets] of await read()) {
      let count = 0;
      for (const [index, bound] of buckets.bounds.entries()) {
        count += buckets.counts[index] as number;
        values.push({ metricName: `${name}_bucket`, labels: { ...labels, le: scaled(bound, scale) }, value: count });
      }
      values.push({ metricName: `${name}_bucket`, labels: { ...labels, le: "+Inf" }, value: buckets.count });
      values.push({ metricName: `${name}_sum`, labels, value: buckets.sum * scale });
      values.push({ metricName: `${name}_count`, labels, value: buckets.count });
    }
    return { name, help, type: "histogram", aggregator: "sum", values };
  }
}

/** `25` milliseconds → `"0.025"`, and never `0.025000000000000001`. */
function scaled(bound: number, scale: number): string {
  return String(Number((bound * scale).toPrecision(12)));
}
