import { type Static, Type } from "@sinclair/typebox";
import { Model } from "./model.ts";

export const virtualStrategies = ["priority", "weight", "cheapest", "fastest"] as const;
export type VirtualStrategy = (typeof virtualStrategies)[number];

/** The most models that one name may stand for, or that one request may list. */
export const membersMax = 16;

const name = Type.String({ minLength: 1, maxLength: 200, description: "The id or an alias of a model" });

/** A row of `catalogue/virtual.json`: a name that stands for several models, of which the first that can serves a call. */
export const VirtualModelRow = Type.Object(
  {
    id: Model.properties.id,
    models: Type.Array(
      Type.Union([
        name,
        Type.Object(
          { model: name, weight: Type.Optional(Type.Integer({ minimum: 0, maximum: 1000 })) },
          { additionalProperties: false },
        ),
      ]),
      { minItems: 1, maxItems: membersMax, description: "Names of models, or { model, weight }" },
    ),
    strategy: Type.Optional(
      Type.Union(
        virtualStrategies.map((word) => Type.Literal(word)),
        { description: "In which order they are tried; default priority: as they are listed" },
      ),
    ),
  },
  { additionalProperties: false },
);
export type VirtualModelRow = Static<typeof VirtualModelRow>;
