import type { Model } from "./api.ts";
import { type Meter, meterNames, meters } from "./meters.ts";

/** One line per meter, such as `$0.10 per M input tokens`. */
export function priceLines(price: Model["price"]): { usd: string; unit: string }[] {
  if (price === undefined) return [];
  const factor = 1 + (price.markupPercent ?? 0) / 100;
  return meterNames.flatMap((name) => {
    const rate = price[name];
    if (rate === undefined) return [];
    const value = (Number(rate.usd) / rate.per) * (meters[name].sizes[0]?.[0] ?? 1) * factor;
    return [{ usd: formatRate(value), unit: meters[name].price }];
  });
}

/** Input and output price of a chat model, or the first line of any other, and what they are for. */
export function shortPrice(price: Model["price"]): { usd: string; unit: string } | undefined {
  const lines = priceLines(price);
  const [input, output] = [price?.inputToken, price?.outputToken];
  if (input !== undefined && output !== undefined) {
    const findUsd = (unit: string) => lines.find((line) => line.unit === unit)?.usd ?? "";
    const usd = `${findUsd(meters.inputToken.price)} in · ${findUsd(meters[findOutput(price)].price)} out`;
    return { usd, unit: "per M tokens" };
  }
  return lines[0];
}

/** The main output of a model: images, audio of a model that only speaks, or text. */
function findOutput(price: Model["price"]): Meter {
  if (price?.imageOutputToken !== undefined) return "imageOutputToken";
  const isSpeech = price?.audioOutputToken !== undefined && price.audioInputToken === undefined;
  return isSpeech ? "audioOutputToken" : "outputToken";
}

/** First rate of a price; columns of prices are sorted by it. */
export function firstRate(price: Model["price"]): number | undefined {
  const first = priceLines(price)[0];
  return first === undefined ? undefined : Number(first.usd.replaceAll(/[$,]/g, ""));
}

function formatRate(value: number): string {
  return `$${value.toLocaleString("en-US", { minimumFractionDigits: 2, maximumFractionDigits: 4 })}`;
}
