import type { Model } from "./api.ts";
import { isRetired, retiresSoon } from "./retirement.ts";

/** A model that an answer of a thousand tokens costs no more than a few cents, in dollars per million tokens of output. */
const outputUsdMax = 30;
/** The smallest context that a coding agent needs. */
const agentContextTokens = 100_000;

/** The maker whose protocol most clients speak: an example for any client shows one of its models, where there is one. */
const makerDefault = "openai";

/**
 * Chooses a chat model for an example: a capable model that is called by its own name, if possible from this maker. A
 * model whose answers are simulated comes after all others.
 * Capable models are not retired, use tools, have room for the files of an agent, and have a price. A model whose first
 * call might empty a wallet comes after others. Among the rest the latest version wins, and within a version the most
 * expensive, because makers sell it for the hardest work. The date of a row decides last: it is often just the date of
 * the catalogue.
 *
 * @param isReachable Whether its provider answers now; a model that cannot be reached comes after all others.
 */
export function pickExampleModel(
  models: readonly Model[],
  maker = makerDefault,
  isReachable: (model: Model) => boolean = () => true,
): Model | undefined {
  const chats = models.filter(({ capability, members }) => capability === "chat" && members === null);
  const rank = (model: Model) => {
    const outputUsd = outputUsdOf(model);
    return [
      Number(model.simulated !== true),
      Number(isReachable(model)),
      Number(!isRetired(model)),
      Number(model.ownedBy === maker),
      Number(model.features?.includes("tools") === true),
      Number((model.contextTokens ?? 0) >= agentContextTokens),
      Number(outputUsd !== undefined),
      Number(!retiresSoon(model)),
      Number((outputUsd ?? 0) <= outputUsdMax),
      // Names such as `alibaba/glm-5.2` are of those who serve models of others too.
      Number(!model.name.includes("/")),
      ...versionOf(model.name),
      outputUsd ?? 0,
      model.created,
    ];
  };
  return chats.toSorted((one, other) => compareRanks(rank(other), rank(one)) || one.id.localeCompare(other.id))[0];
}

/**
 * Chooses a second model for the small work of an agent, such as titles and summaries: the cheapest model of the same
 * maker that uses tools and has room for the files of an agent. Returns the main model if no other model is cheaper.
 */
export function pickSmallModel(models: readonly Model[], main: Model): Model {
  const isSmall = (model: Model) =>
    model.capability === "chat" &&
    model.members === null &&
    model.ownedBy === main.ownedBy &&
    model.simulated === main.simulated &&
    model.features?.includes("tools") === true &&
    (model.contextTokens ?? 0) >= agentContextTokens &&
    !isRetired(model) &&
    !retiresSoon(model);
  const able = [main, ...models.filter(isSmall)].flatMap((model) => {
    const usd = usdOf(model);
    return usd === undefined ? [] : [{ model, usd }];
  });
  const order = (one: { model: Model; usd: number }, other: { model: Model; usd: number }) =>
    one.usd - other.usd || compareRanks(rankAmongEquals(other.model), rankAmongEquals(one.model));
  return usdOf(main) === undefined ? main : (able.toSorted(order)[0]?.model ?? main);
}

/** Ranks models with the same price: first models served by their own maker, then the latest version. */
function rankAmongEquals({ name }: Model): number[] {
  return [Number(!name.includes("/")), ...versionOf(name)];
}

/** Reads the version from a name, such as 6 and 1 from `gpt-6.1-sol`. Sizes such as `24b` and dates do not count. */
function versionOf(name: string): [major: number, minor: number] {
  const [, major = 0, minor = 0] = /(?<!\d)(\d{1,2})(?![\da-z])(?:[.-](\d{1,2})(?![\da-z]))?/.exec(name) ?? [];
  return [Number(major), Number(minor)];
}

/** Dollars per million tokens of output; absent: unknown, or of a model that has no such price. */
function outputUsdOf({ price }: Model): number | undefined {
  return toUsd(price?.outputToken);
}

/** Dollars for three million tokens of input and one of output, as agents use them; absent: unknown. */
function usdOf({ price }: Model): number | undefined {
  const [input, output] = [toUsd(price?.inputToken), toUsd(price?.outputToken)];
  return input === undefined || output === undefined ? undefined : 3 * input + output;
}

function toUsd(rate: { readonly usd: string; readonly per: number } | undefined): number | undefined {
  return rate === undefined ? undefined : (Number(rate.usd) / rate.per) * 1e6;
}

function compareRanks(one: readonly number[], other: readonly number[]): number {
  for (const [place, value] of one.entries()) {
    const difference = value - (other[place] ?? 0);
    if (difference !== 0) return difference;
  }
  return 0;
}
