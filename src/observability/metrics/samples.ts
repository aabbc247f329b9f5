import { Counter, Gauge, type Registry } from "prom-client";

type Labels = Readonly<Record<string, string>>;
/** One line: its labels and its value. */
export type Sample = readonly [labels: Labels, value: number];

/** A metric whose value is read at each scrape. */
interface Read {
  readonly name: string;
  readonly help: string;
  readonly labels?: readonly string[];
  read(): Iterable<Sample> | Promise<Iterable<Sample>>;
}

export function addCounter(registry: Registry, { name, help, labels = [], read }: Read): void {
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

export function addGauge(registry: Registry, { name, help, labels = [], read }: Read): void {
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
