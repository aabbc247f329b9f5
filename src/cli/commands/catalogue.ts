import { formatUsd, meterNames, parseUsd, type Rate } from "../../contract/index.ts";
import { getDisplayName, getRetirement, type Model } from "../../provider/index.ts";
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
  async run(context, { config }) {
    const snapshot = await loadSnapshot(context, config, await readProviderSettings(config));
    const live = readLiveState(config);
    const described = toCatalogueRows(snapshot.plugins).map(({ model, plugin }) => {
      const json = {
        id: model.id,
        name: getDisplayName(model),
        aliases: model.aliases ?? [],
        capability: model.capability,
        premium: model.premium,
        plugin: plugin.name,
        context_tokens: model.contextTokens ?? null,
        price: model.price ?? null,
        served: getServedBy(plugin, { states: live?.plugins ?? snapshot.states }),
      };
      const quota = json.premium ? "paid" : "free quota";
      const { id, name } = json;
      const label = name === id ? name : `${name} (${id})`;
      return { json, row: [label, json.capability, quota, formatPrice(model), json.served] };
    });
    const list = columns(described.map(({ row }) => row));
    const text = live === undefined ? list : `${list}\n\n${describeSource(true)}`;
    return { json: described.map(({ json }) => json), text };
  },
});

function formatPrice({ price }: Model): string {
  if (price === undefined) return "no price";
  const rates = meterNames.flatMap((name) => {
    const rate = price[name];
    return rate === undefined || name.startsWith("cache") ? [] : [`${name} ${formatRate(rate)}`];
  });
  const markup = price.markupPercent === undefined ? "" : ` + ${price.markupPercent} %`;
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
