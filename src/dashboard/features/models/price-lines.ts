import type { Model } from "./api.ts";

type Price = NonNullable<Model["price"]>;
type Meter = Exclude<keyof Price, "markupPercent" | "serviceTiers" | "tiers">;

/** How each meter is displayed: the number of units a price is for, and their name. */
const meters: Record<Meter, { units: number; unit: string }> = {
  inputToken: { units: 1_000_000, unit: "per M input tokens" },
  audioInputToken: { units: 1_000_000, unit: "per M audio input tokens" },
  cacheReadToken: { units: 1_000_000, unit: "per M cached tokens" },
  cacheWriteToken: { units: 1_000_000, unit: "per M cache write tokens" },
  cacheWrite1hToken: { units: 1_000_000, unit: "per M 1-hour cache write tokens" },
  outputToken: { units: 1_000_000, unit: "per M output tokens" },
  audioOutputToken: { units: 1_000_000, unit: "per M audio output tokens" },
  imageOutputToken: { units: 1_000_000, unit: "per M image output tokens" },
  image: { units: 1, unit: "per image" },
  audioMs: { units: 3_600_000, unit: "per hour of audio" },
  character: { units: 1_000_000, unit: "per M characters" },
  call: { units: 1, unit: "per call" },
};

/** One line per meter, such as `$0.10 per M input tokens`. */
export function priceLines(price: Model["price"]): { usd: string; unit: string }[] {
  if (price === undefined) return [];
  const factor = 1 + (price.markupPercent ?? 0) / 100;
  return (Object.keys(meters) as Meter[]).flatMap((name) => {
    const rate = price[name];
    if (rate === undefined) return [];
    const value = (Number(rate.usd) / rate.per) * meters[name].units * factor;
    return [{ usd: formatRate(value), unit: meters[name].unit }];
  });
}

/** Input and output price of a chat model, or the first line of any other, and what they are for. */
export function shortPrice(price: Model["price"]): { usd: string; unit: string } | undefined {
  const lines = priceLines(price);
  const [input, output] = [price?.inputToken, price?.outputToken];
  if (input !== undefined && output !== undefined) {
    const findUsd = (unit: string) => lines.find((line) => line.unit === unit)?.usd ?? "";
    const usd = `${findUsd(meters.inputToken.unit)} in · ${findUsd(meters[findOutput(price)].unit)} out`;
    return { usd, unit: "per M tokens" };
  }
  return lines[0];
}

/** What the answers of a model mostly are: pictures, sound of a model that only speaks, or text. */
function findOutput(price: Model["price"]): Meter {
  if (price?.imageOutputToken !== undefined) return "imageOutputToken";
  const isSpeech = price?.audioOutputToken !== undefined && price.audioInputToken === undefined;
  return isSpeech ? "audioOutputToken" : "outputToken";
}

/** What a column of prices is sorted by: the first of the rates. */
export function firstRate(price: Model["price"]): number | undefined {
  const first = priceLines(price)[0];
  return first === undefined ? undefined : Number(first.usd.replaceAll(/[$,]/g, ""));
}

function formatRate(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 })}`;
}
