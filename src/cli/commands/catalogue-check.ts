import { compilePrice, isPriced, type MeterName, type Model } from "../../contract/index.ts";
import { columns } from "../columns.ts";
import { defineCommand } from "../command.ts";
import { type Row, rowsOf } from "../rows.ts";

const soonMs = 60 * 86_400_000;

const metersOf: Record<Model["capability"], readonly MeterName[]> = {
  chat: ["inputToken", "outputToken"],
  embed: ["inputToken"],
  image: ["image"],
  transcribe: ["audioMs"],
  speak: ["character"],
};

/** What is the matter with a row. */
type Finding = "retired" | "retiring" | "unpriced";

export const catalogueCheck = defineCommand({
  name: "catalogue check",
  about: "List rows past their retirement or within 60 days of it, and rows without a price",
  flags: {},
  args: [],
  example: "catalogue check",
  async run(ground, { now }) {
    const rows = rowsOf(ground.plugins);
    const found = rows.flatMap((row) => findingsOf(row.model, now).map((finding) => describe(row, finding)));
    const text =
      found.length === 0
        ? `Nothing to report of ${rows.length} rows`
        : columns(
            found.map(({ finding, model, plugin, retired_on, successor }) => [
              finding,
              model,
              plugin,
              retired_on ?? "",
              successor === null ? "" : `successor: ${successor}`,
            ]),
          );
    return { json: found, text };
  },
});

function findingsOf(model: Model, now: number): Finding[] {
  const findings: Finding[] = [];
  const retiresAt = model.retiredOn === undefined ? undefined : Date.parse(`${model.retiredOn}T00:00:00Z`);
  if (retiresAt !== undefined && retiresAt <= now) findings.push("retired");
  else if (retiresAt !== undefined && retiresAt - now <= soonMs) findings.push("retiring");
  if (model.price === undefined || !sells(model)) findings.push("unpriced");
  return findings;
}

function sells({ price, capability }: Model): boolean {
  return price !== undefined && isPriced(compilePrice(price), metersOf[capability]);
}

function describe({ model, plugin }: Row, finding: Finding) {
  return {
    finding,
    model: model.id,
    plugin: plugin.name,
    retired_on: model.retiredOn ?? null,
    successor: model.successor ?? null,
  };
}
