import { Type } from "@sinclair/typebox";
import { DisplayName, optional } from "../contract/index.ts";
import { defineFields, Limit } from "../lib/fields.ts";
import type { Account } from "./accounts.ts";

/** A list of models of a key or an account. */
export const Models = Type.Array(DisplayName, { minItems: 1, maxItems: 500 });

const description = "`null`: the value of its role, or the configured value";
const ofRole = { schema: optional(Type.Integer({ ...Limit, description })), changes: true } as const;

/** The fields that an operator decides of an account, except its budget. */
export const accountFields = defineFields<Account>()({
  allowed_models: { schema: optional(Models), column: "allowedModels", changes: true },
  free_tokens_per_day: {
    schema: optional(Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER, description })),
    column: "freeTokensPerDay",
    changes: true,
  },
  requests_per_minute: { ...ofRole, column: "requestsPerMinute" },
  tokens_per_minute: { ...ofRole, column: "tokensPerMinute" },
  concurrent_calls: { ...ofRole, column: "concurrentCalls" },
  billed_afterwards: {
    schema: Type.Optional(
      Type.Boolean({
        description: "The budget limits paid calls instead of the wallet, whose balance then shows the amount owed",
      }),
    ),
    column: "isBilledAfterwards",
    changes: true,
  },
});
