import { Counter, Gauge, type Registry } from "prom-client";

type Labels = Readonly<Record<string, string>>;
/** One sample: its labels and value. */
export type Sample = readonly [labels: Labels, value: number];

/** A metric that is read at each scrape. */
export interface ScrapedMetric {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  read(): Iterable<Sample> | Promise<Iterable<Sample>>;
}

/** Adds a gauge of one number without labels. */
export function addValue(registry: Registry, name: string, help: string, read: () => number): void {
  addGauge(registry, { name, help, read: () => [[{}, read()]] });
}

export function addCounter(registry: Registry, { name, help, labels = [], read }: ScrapedMetric): void {
  new Counter({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect() {
      const samples = await read();
      this.reset();
      for (const [sampleLabels, value] of samples) this.inc(sampleLabels, value);
    },
  });
}

export function addGauge(registry: Registry, { name, help, labels = [], read }: ScrapedMetric): void {
  new Gauge({
    name,
    help,
    labelNames: labels,
    registers: [registry],
    async collect() {
      const samples = await read();
      this.reset();
      for (const [sampleLabels, value] of samples) this.set(sampleLabels, value);
    },
  });
}
