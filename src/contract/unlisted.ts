import { type Static, Type } from "@sinclair/typebox";
import { modelCapabilities } from "./capability.ts";
import { Price } from "./price.ts";

/** By what terms the models of a provider are sold that have no row of their own. */
export const Unlisted = Type.Object(
  {
    premium: Type.Boolean(),
    prefix: Type.Optional(
      Type.String({
        pattern: "^[a-z0-9][a-z0-9-]*/$",
        description: "What stands before the provider's names, such as my-server/",
      }),
    ),
    price: Type.Optional(Price),
    capability: Type.Optional(
      Type.Union(
        modelCapabilities.map((name) => Type.Literal(name)),
        { description: "Default chat" },
      ),
    ),
    contextTokens: Type.Optional(Type.Integer({ minimum: 1 })),
    outputTokensMax: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);
export type Unlisted = Static<typeof Unlisted>;
