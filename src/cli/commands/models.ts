import { formatUsd, type Model, meterNames, parseUsd, type Rate } from "../../contract/index.ts";
import { columns } from "../columns.ts";
import { defineCommand } from "../command.ts";
import { type Row, rowsOf, servedBy } from "../rows.ts";
import { shelfOf } from "../shelf.ts";

export const models = defineCommand({
  name: "models",
  about: "List the models, their prices, and who answers for them now",
  flags: {},
  args: [],
  example: "models",
  async run(ground, { config }) {
    const { plugins } = await shelfOf(ground, config);
    const described = rowsOf(plugins).map((row) => describe(row, servedBy(row.plugin, config, plugins)));
    const rows = described.map(({ json, price }) => [
      json.id,
      json.capability,
      json.premium ? "premium" : "free quota",
      price,
      json.served,
    ]);
    return { json: described.map(({ json }) => json), text: columns(rows) };
  },
});

function describe({ model, plugin }: Row, served: string) {
  const json = {
    id: model.id,
    aliases: model.aliases ?? [],
    capability: model.capability,
    premium: model.premium,
    plugin: plugin.name,
    context_tokens: model.contextTokens ?? null,
    price: model.price ?? null,
    served,
  };
  return { json, price: priceText(model) };
}

function priceText({ price }: Model): string {
  if (price === undefined) return "no price";
  const rates = meterNames.flatMap((name) => {
    const rate = price[name];
    return rate === undefined || name.startsWith("cache") ? [] : [`${name} ${rateText(rate)}`];
  });
  const markup = price.markupPercent === undefined ? "" : ` + ${price.markupPercent} %`;
  return `${rates.join(", ")}${markup}`;
}

function rateText({ usd, per }: Rate): string {
  const nanodollars = parseUsd(usd);
  const shown = nanodollars === undefined ? usd : formatUsd(nanodollars);
  const unit = per === 1 ? "" : per === 1_000_000 ? "/M" : per === 3_600_000 ? "/h" : `/${per}`;
  return `$${shown}${unit}`;
}
