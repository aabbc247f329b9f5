import { type Static, type TOptional, Type } from "@sinclair/typebox";
import { type MeterName, meterNames } from "./meters.ts";

/** A rate as people write it: decimal US dollars for a number of units, `{ "usd": "0.10", "per": 1000000 }`. */
export const Rate = Type.Object(
  {
    usd: Type.String({ pattern: "^\\d{1,6}(\\.\\d{1,9})?$", description: "Decimal US dollars, at most nine decimals" }),
    per: Type.Integer({ minimum: 1, maximum: 1_000_000_000, description: "For this many units" }),
  },
  { additionalProperties: false },
);
export type Rate = Static<typeof Rate>;

const rates = Object.fromEntries(meterNames.map((name) => [name, Type.Optional(Rate)])) as Record<
  MeterName,
  TOptional<typeof Rate>
>;

/** The price of a model: a rate a meter. An absent meter has no known price, which is not the same as being free. */
export const Price = Type.Object(
  {
    ...rates,
    markupPercent: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000, description: "Added to every rate" })),
    tiers: Type.Optional(
      Type.Array(
        Type.Object(
          { aboveInputTokens: Type.Integer({ minimum: 1 }), ...rates },
          { additionalProperties: false, description: "Rates of the whole call when its prompt is longer than this" },
        ),
        { maxItems: 8 },
      ),
    ),
  },
  { additionalProperties: false },
);
export type Price = Static<typeof Price>;
