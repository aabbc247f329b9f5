import {
  formatPercent,
  formatUsd,
  meterNames,
  type Price,
  parseUsd,
  type Rate,
  toSalePrice,
} from "../../contract/index.ts";
import type { Markups } from "../../kernel/index.ts";
import { getDisplayName, getRetirement, type Model } from "../../provider/index.ts";
import type { PluginSnapshot } from "../../providers/index.ts";
import { findMissingRates } from "../../sdk/read-models.ts";
import { defineCommand } from "../command.ts";
import {
  type CatalogueRow,
  getServedBy,
  loadOffline,
  loadSnapshot,
  readProviderSettings,
  toCatalogueRows,
} from "../lib/catalogue.ts";
import { columns } from "../lib/format.ts";
import { describeSource, readLiveState } from "../lib/live-state.ts";

export const models = defineCommand({
  name: "models",
  description: "List the models, their prices, and the providers that serve them now",
  flags: {},
  args: [],
  example: "models",
  async run(context, { config, now }) {
    const settings = await readProviderSettings(config);
    const snapshot = await loadSnapshot(context, config, settings);
    const live = readLiveState(config);
    const described = toCatalogueRows(snapshot.plugins).map(({ model, plugin }) => {
      const sale = findSale({ model, plugin }, snapshot, settings?.markups);
      const json = {
        id: model.id,
        name: getDisplayName(model),
        aliases: model.aliases ?? [],
        capability: model.capability,
        premium: model.premium,
        plugin: plugin.name,
        context_tokens: model.contextTokens ?? null,
        price: sale.price ?? null,
        provider_price: sale.providerPrice === undefined ? null : toSalePrice(sale.providerPrice, 0),
        markup_percent: formatPercent(sale.basisPoints),
        served: getServedBy({ plugin, model }, { states: live?.plugins ?? snapshot.states, now }),
      };
      const quota = json.premium ? "paid" : "free quota";
      const { id, name } = json;
      const label = name === id ? name : `${name} (${id})`;
      return { json, row: [label, json.capability, quota, formatPrice(sale), json.served] };
    });
    const list = columns(described.map(({ row }) => row));
    const hasMarkup = described.some(({ json }) => json.markup_percent !== "0");
    const notes = [hasMarkup ? saleNote : [], live === undefined ? [] : describeSource(true)].flat();
    const text = [list, ...(notes.length === 0 ? [] : [notes.join("\n")])].join("\n\n");
    return { json: described.map(({ json }) => json), text };
  },
});

const saleNote = "Prices are what accounts without a markup of their own pay; --json has the provider's prices too";

/** The price at which a model is sold to accounts without a markup of their own. */
interface Sale {
  readonly price: Price | undefined;
  readonly providerPrice: Price | undefined;
  readonly basisPoints: number;
}

/** A model with several routes is sold at one price; one that nothing serves would be sold at that of its row. */
function findSale({ model, plugin }: CatalogueRow, { registry }: PluginSnapshot, markups: Markups | undefined): Sale {
  const entry = registry.byName(model.id);
  const isServed = entry?.routes.some((route) => route.plugin.name === plugin.name) === true;
  const { price: providerPrice } = isServed ? entry.model : model;
  const own = providerPrice?.markupPercent;
  const ofGateway = markups?.providers.get(plugin.name) ?? markups?.gateway ?? 0;
  const ofRow = own === undefined ? ofGateway : Math.round(own * 100);
  const basisPoints = isServed ? (entry.markupBasisPoints ?? 0) : ofRow;
  return { price: providerPrice && toSalePrice(providerPrice, basisPoints), providerPrice, basisPoints };
}

function formatPrice({ price, basisPoints }: Sale): string {
  if (price === undefined) return "no price";
  const rates = meterNames.flatMap((name) => {
    const rate = price[name];
    return rate === undefined || name.startsWith("cache") ? [] : [`${name} ${formatRate(rate)}`];
  });
  const markup = basisPoints === 0 ? "" : ` (with ${formatPercent(basisPoints)} % markup)`;
  return `${rates.join(", ")}${markup}`;
}

function formatRate({ usd, per }: Rate): string {
  const nanodollars = parseUsd(usd);
  const amount = nanodollars === undefined ? usd : formatUsd(nanodollars);
  const unit = per === 1 ? "" : per === 1_000_000 ? "/M" : per === 3_600_000 ? "/h" : `/${per}`;
  return `$${amount}${unit}`;
}

/** A price that was checked longer ago counts as outdated. */
const checkedMsMax = 60 * 86_400_000;

/** Problems of a row, most severe first. */
const findings = ["retired", "retiring", "outdated", "unpriced"] as const;
type Finding = (typeof findings)[number];

const hasFinding: Record<Finding, (model: Model, now: number) => boolean> = {
  retired: (model, now) => getRetirement(model, now) === "past",
  retiring: (model, now) => getRetirement(model, now) === "soon",
  outdated: ({ checkedOn }, now) => checkedOn !== undefined && Date.parse(checkedOn) + checkedMsMax < now,
  unpriced: ({ price, capability }) => findMissingRates(price, capability).length > 0,
};

/** Finds what an operator should review in a row. */
export function catalogueFindings(model: Model, now: number): Finding[] {
  return findings.filter((finding) => hasFinding[finding](model, now));
}

export const catalogueCheck = defineCommand({
  name: "catalogue check",
  description:
    "List models that are retired or retire within 60 days, and prices that are missing or not checked for 60 days",
  flags: {},
  args: [],
  example: "catalogue check",
  async run(context, { config, now }) {
    const rows = toCatalogueRows((await loadOffline(context, config)).plugins);
    const matches = findings.flatMap((finding) =>
      rows.filter(({ model }) => hasFinding[finding](model, now)).map((row) => toFindingJson(row, finding)),
    );
    if (matches.length === 0) return { json: matches, text: `No findings in ${rows.length} rows` };
    const cells = matches.map(({ finding, name, plugin, retired_on, successor }) => {
      return [finding, name, plugin, retired_on ?? "", successor === null ? "" : `successor: ${successor}`];
    });
    return { json: matches, text: columns(cells) };
  },
});

function toFindingJson({ model, plugin }: CatalogueRow, finding: Finding) {
  const { id, retiredOn = null, successor = null } = model;
  return { finding, model: id, name: getDisplayName(model), plugin: plugin.name, retired_on: retiredOn, successor };
}
