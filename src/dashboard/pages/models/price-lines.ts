import type { Model } from "../../data/models.ts";

type Price = NonNullable<Model["price"]>;
type Meter = Exclude<keyof Price, "markupPercent" | "tiers">;

/** How each meter is told: of how many units a price is, and what they are called. */
const meters: Record<Meter, { units: number; words: string }> = {
  inputToken: { units: 1_000_000, words: "per M input tokens" },
  cacheReadToken: { units: 1_000_000, words: "per M cached tokens" },
  cacheWriteToken: { units: 1_000_000, words: "per M tokens written to the cache" },
  outputToken: { units: 1_000_000, words: "per M output tokens" },
  image: { units: 1, words: "per image" },
  audioMs: { units: 3_600_000, words: "per hour of sound" },
  character: { units: 1_000_000, words: "per M characters" },
  call: { units: 1, words: "per call" },
};

/** A price in words, a line a meter: `$0.10 per M input tokens`. */
export function priceLines(price: Model["price"]): { usd: string; words: string }[] {
  if (price === undefined) return [];
  const factor = 1 + (price.markupPercent ?? 0) / 100;
  return (Object.keys(meters) as Meter[]).flatMap((name) => {
    const rate = price[name];
    if (rate === undefined) return [];
    const value = (Number(rate.usd) / rate.per) * meters[name].units * factor;
    return [{ usd: dollars(value), words: meters[name].words }];
  });
}

/** What is read first of a price: in and out of a chat, or the one thing that the model makes. */
export function shortPrice(price: Model["price"]): string {
  const lines = priceLines(price);
  const [input, output] = [price?.inputToken, price?.outputToken];
  if (input !== undefined && output !== undefined) {
    const told = (words: string) => lines.find((line) => line.words === words)?.usd ?? "";
    return `${told(meters.inputToken.words)} in · ${told(meters.outputToken.words)} out`;
  }
  const [first] = lines;
  return first === undefined ? "–" : `${first.usd} ${first.words}`;
}

function dollars(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 })}`;
}
