import { compilePrice, isPriced, type MeterName, type Model } from "../../contract/index.ts";
import { columns } from "../columns.ts";
import { defineCommand } from "../command.ts";
import { type Row, rowsOf } from "../rows.ts";
import { shelfOf } from "../shelf.ts";

const soonMs = 60 * 86_400_000;

const metersOf: Record<Model["capability"], readonly MeterName[]> = {
  chat: ["inputToken", "outputToken"],
  embeddings: ["inputToken"],
  images: ["image"],
  transcription: ["audioMs"],
  speech: ["character"],
};

/** What can be the matter with a row, the worst first. */
const findings = ["retired", "retiring", "unpriced"] as const;
type Finding = (typeof findings)[number];

const finds: Record<Finding, (model: Model, now: number) => boolean> = {
  retired: (model, now) => retiresAt(model) <= now,
  retiring: (model, now) => retiresAt(model) > now && retiresAt(model) <= now + soonMs,
  unpriced: ({ price, capability }) => price === undefined || !isPriced(compilePrice(price), metersOf[capability]),
};

export const catalogueCheck = defineCommand({
  name: "catalogue check",
  about: "List models retired or within 60 days of it, and those without a price",
  flags: {},
  args: [],
  example: "catalogue check",
  async run(ground, { config, now }) {
    const rows = rowsOf((await shelfOf(ground, config)).plugins);
    const found = findings.flatMap((finding) =>
      rows.filter((row) => finds[finding](row.model, now)).map((row) => describe(row, finding)),
    );
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

/** The start of the row's last day, UTC; never when none is known. */
function retiresAt({ retiredOn }: Model): number {
  return retiredOn === undefined ? Number.POSITIVE_INFINITY : Date.parse(`${retiredOn}T00:00:00Z`);
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
