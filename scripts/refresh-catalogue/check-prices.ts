import { calcPrice } from "@pydantic/genai-prices";
import type { Rate } from "../../src/contract/index.ts";
import type { Model } from "../../src/provider/index.ts";

const aheadMs = 60 * 86_400_000;

/** The second list's names of the providers, where they differ. */
const providers: Readonly<Record<string, string>> = { gemini: "google", together_ai: "together" };

/** Compares chat models with a second, independent price list, and reports prices that are about to change. */
export function checkPrices(provider: string, rows: readonly Model[], today: Date): string[] {
  return rows.flatMap(({ id, capability, price }) => {
    if (capability !== "chat") return [];
    const options = { providerId: providers[provider] ?? provider };
    const priceOn = (timestamp: Date) => {
      const usage = { input_tokens: 1000, output_tokens: 1000 };
      const price = calcPrice(usage, id, { ...options, timestamp });
      return price === null ? undefined : round(price.total_price * 1000);
    };
    const own = round(toUsd(price?.inputToken) + toUsd(price?.outputToken));
    const [now, later] = [priceOn(today), priceOn(new Date(today.getTime() + aheadMs))];
    if (now === undefined) return [];
    if (now !== own) return [`${id} costs $${own} for a million tokens each way here, $${now} by genai-prices`];
    return now === later ? [] : [`${id} will cost $${later} for a million tokens each way within 60 days`];
  });
}

function toUsd(rate: Rate | undefined): number {
  return rate === undefined ? Number.NaN : (Number(rate.usd) * 1_000_000) / rate.per;
}

const round = (usd: number) => Number(usd.toFixed(6));
