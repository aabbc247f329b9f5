/** One line of Prometheus' text form. */
export interface MetricLine {
  name: string;
  labels: Record<string, string>;
  value: number;
}

/** Reads a scrape to the letter. @throws At a line that is none, and at a family without HELP and TYPE. */
export function readScrape(text: string): MetricLine[] {
  const types = new Map<string, string>();
  const lines: MetricLine[] = [];
  for (const line of text.split("\n")) {
    const about = /^# (HELP|TYPE) ([a-z_]+) (.+)$/.exec(line);
    if (about?.[1] === "TYPE") types.set(about[2] as string, about[3] as string);
    if (line === "" || about !== null) continue;
    const sample = /^([a-z_]+)(?:\{(.*)\})? (-?[0-9.e+-]+|NaN)$/.exec(line);
    if (sample === null) throw new Error(`No line of a scrape: ${line}`);
    const [, name = "", labelText = "", value] = sample;
    const family = types.has(name) ? name : name.replace(/_(bucket|sum|count)$/, "");
    if (!types.has(family)) throw new Error(`No TYPE before ${line}`);
    const labels = Object.fromEntries(
      Array.from(labelText.matchAll(/([a-z_]+)="((?:[^"\\]|\\.)*)"/g), ([, key, text]) => [key, text]),
    );
    lines.push({ name, labels, value: Number(value) });
  }
  return lines;
}

/** Where a gateway says that its metrics are; it says so a moment after it is ready. @throws After ten seconds. */
export async function metricsOf(gateway: { stdout(): string }): Promise<string> {
  const deadline = Date.now() + 60_000;
  while (Date.now() < deadline) {
    const address = /Metrics +(http:\S+)/.exec(gateway.stdout())?.[1];
    if (address !== undefined) return address;
    await Bun.sleep(10);
  }
  throw new Error(`The gateway does not say where its metrics are: ${gateway.stdout()}`);
}

/** The one value of a line with these labels. @throws When there is none or several. */
export function sampleOf(lines: MetricLine[], name: string, labels: Record<string, string> = {}): number {
  const found = lines.filter(
    (line) => line.name === name && Object.entries(labels).every(([k, v]) => line.labels[k] === v),
  );
  const [only, ...others] = found;
  if (only === undefined || others.length > 0)
    throw new Error(`${found.length} lines of ${name} ${JSON.stringify(labels)}`);
  return only.value;
}
