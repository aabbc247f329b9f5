import type { LoggedRequest } from "../requests/api.ts";
import type { Model } from "./api.ts";

type Price = NonNullable<Model["price"]>;

/** A unit that is counted and priced, by its name in a price. */
export type Meter = Exclude<keyof Price, "markupPercent" | "serviceTiers" | "tiers">;

/** How a meter is shown. */
interface MeterText {
  /** The field of a request that has its amount; absent where none is shown. */
  readonly column?: keyof LoggedRequest;
  /** A token of the prompt or of the answer, or another unit. */
  readonly kind: "prompt" | "answer" | "unit";
  /** In a form. */
  readonly name: string;
  /** Behind an amount, such as `12 input tokens`. */
  readonly amount: string;
  /** The unit sizes that a rate can be written for, the one that prices are shown for first. */
  readonly sizes: readonly (readonly [units: number, name: string])[];
  /** Behind a price. */
  readonly price: string;
}

const counts = [
  [1_000_000, "1M"],
  [1000, "1K"],
  [1, "1"],
] as const;
const lengths = [
  [3_600_000, "hour"],
  [60_000, "minute"],
  [1000, "second"],
] as const;

/** All meters. Prices and amounts are shown in this order. */
export const meters: Readonly<Record<Meter, MeterText>> = {
  inputToken: {
    column: "input_tokens",
    kind: "prompt",
    name: "Input tokens",
    amount: "input tokens",
    sizes: counts,
    price: "per M input tokens",
  },
  audioInputToken: {
    column: "audio_input_tokens",
    kind: "prompt",
    name: "Audio input tokens",
    amount: "audio input tokens",
    sizes: counts,
    price: "per M audio input tokens",
  },
  imageInputToken: {
    column: "image_input_tokens",
    kind: "prompt",
    name: "Image input tokens",
    amount: "image input tokens",
    sizes: counts,
    price: "per M image input tokens",
  },
  cacheReadToken: {
    column: "cache_read_tokens",
    kind: "prompt",
    name: "Cached tokens",
    amount: "tokens read from a cache",
    sizes: counts,
    price: "per M cached tokens",
  },
  audioCacheReadToken: {
    column: "audio_cache_read_tokens",
    kind: "prompt",
    name: "Cached audio tokens",
    amount: "audio tokens read from a cache",
    sizes: counts,
    price: "per M cached audio tokens",
  },
  cacheWriteToken: {
    column: "cache_write_tokens",
    kind: "prompt",
    name: "Cache writes",
    amount: "tokens written to a cache",
    sizes: counts,
    price: "per M cache write tokens",
  },
  cacheWrite1hToken: {
    column: "cache_write_1h_tokens",
    kind: "prompt",
    name: "Cache writes, 1 hour",
    amount: "tokens cached for an hour",
    sizes: counts,
    price: "per M 1-hour cache write tokens",
  },
  cacheWrite12hToken: {
    column: "cache_write_12h_tokens",
    kind: "prompt",
    name: "Cache writes, 12 hours",
    amount: "tokens cached for twelve hours",
    sizes: counts,
    price: "per M 12-hour cache write tokens",
  },
  outputToken: {
    column: "output_tokens",
    kind: "answer",
    name: "Output tokens",
    amount: "output tokens",
    sizes: counts,
    price: "per M output tokens",
  },
  audioOutputToken: {
    column: "audio_output_tokens",
    kind: "answer",
    name: "Audio output tokens",
    amount: "audio output tokens",
    sizes: counts,
    price: "per M audio output tokens",
  },
  imageOutputToken: {
    column: "image_output_tokens",
    kind: "answer",
    name: "Image output tokens",
    amount: "image output tokens",
    sizes: counts,
    price: "per M image output tokens",
  },
  image: {
    column: "images",
    kind: "unit",
    name: "Image",
    amount: "images",
    sizes: [[1, "image"]],
    price: "per image",
  },
  inputImage: {
    column: "input_images",
    kind: "unit",
    name: "Images in",
    amount: "images that went in",
    sizes: [[1, "image in"]],
    price: "per image that goes in",
  },
  audioMs: {
    column: "audio_ms",
    kind: "unit",
    name: "Audio",
    amount: "ms of audio",
    sizes: lengths,
    price: "per hour of audio",
  },
  character: {
    column: "characters",
    kind: "unit",
    name: "Characters",
    amount: "characters",
    sizes: counts,
    price: "per M characters",
  },
  searchUnit: {
    column: "search_units",
    kind: "unit",
    name: "Search units",
    amount: "search units",
    sizes: [
      [1000, "1K"],
      [1, "1"],
    ],
    price: "per K search units",
  },
  webSearch: {
    column: "web_searches",
    kind: "unit",
    name: "Web searches",
    amount: "web searches",
    sizes: [
      [1000, "1K"],
      [1, "1"],
    ],
    price: "per K web searches",
  },
  page: {
    column: "pages",
    kind: "unit",
    name: "Pages",
    amount: "pages",
    sizes: [
      [1000, "1K"],
      [1, "1"],
    ],
    price: "per K pages",
  },
  second: {
    column: "seconds",
    kind: "unit",
    name: "Seconds",
    amount: "seconds",
    sizes: [
      [1, "second"],
      [60, "minute"],
      [3600, "hour"],
    ],
    price: "per second",
  },
  call: { kind: "unit", name: "Call", amount: "calls", sizes: [[1, "call"]], price: "per call" },
};

export const meterNames = Object.keys(meters) as Meter[];

/** The amounts of a request on all meters of a kind; null where one is unknown. */
export function amountsOf(request: Partial<LoggedRequest>, kind: MeterText["kind"]): (number | null)[] {
  return meterNames.flatMap((name) => {
    const { column, kind: own } = meters[name];
    return own === kind && column !== undefined ? [(request[column] ?? null) as number | null] : [];
  });
}
