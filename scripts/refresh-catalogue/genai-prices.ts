import { findProvider } from "@pydantic/genai-prices";
import { isPositive, type Listed } from "./price-list.ts";

type Prices = Readonly<Record<string, unknown>>;

/**
 * Reads models of providers that LiteLLM's list lacks from the second list, in the form of the first. Models with an
 * unknown context are left out, and models whose price depends on anything but the day.
 *
 * @param ids The providers, as the second list calls them. A model is named `<provider>/<model>`.
 */
export function readGenaiPrices(ids: readonly string[], today: Date): Record<string, Listed> {
  const entries = ids.flatMap((id) =>
    (findProvider({ providerId: id })?.models ?? []).flatMap(({ id: model, context_window: context, prices }) => {
      const now = Array.isArray(prices) ? pricesOn(prices, today) : (prices as Prices);
      if (context === undefined || now === undefined || Object.values(now).some((price) => !isPositive(price)))
        return [];
      const listed: Listed = {
        mode: "chat",
        litellm_provider: id,
        max_input_tokens: context,
        ...field("input_cost_per_token", now.input_mtok),
        ...field("cache_read_input_token_cost", now.cache_read_mtok),
        ...field("cache_creation_input_token_cost", now.cache_write_mtok),
        ...field("output_cost_per_token", now.output_mtok),
      };
      return [[`${id}/${model}`, listed] as const];
    }),
  );
  return Object.fromEntries(entries);
}

function field(name: string, usdOfMillion: unknown): Record<string, number> {
  return isPositive(usdOfMillion) ? { [name]: usdOfMillion / 1_000_000 } : {};
}

/** The last prices that are in force; `undefined` when one holds at some times of the day alone. */
function pricesOn(all: readonly { constraint?: unknown; prices: unknown }[], today: Date): Prices | undefined {
  const dated = all.map(({ constraint, prices }) => {
    const { type, start_date: start } = (constraint ?? { type: "start_date" }) as { type: string; start_date?: string };
    return { isDated: type === "start_date", start: start === undefined ? 0 : Date.parse(start), prices };
  });
  if (dated.some(({ isDated }) => !isDated)) return undefined;
  return dated.filter(({ start }) => start <= today.getTime()).at(-1)?.prices as Prices | undefined;
}
