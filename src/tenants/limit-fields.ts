import { optional } from "../contract/index.ts";
import { defineFields, Limit } from "../lib/fields.ts";

interface LimitColumns {
  requests_per_minute: number | null;
  tokens_per_minute: number | null;
  concurrent_calls: number | null;
}

/** The limits of calls, wherever they are set. */
export const limitFields = defineFields<LimitColumns>()({
  requests_per_minute: {
    schema: optional(Limit),
    column: "requests_per_minute",
    changes: true,
    apiName: "max_requests_per_1_minute",
    form: { label: "Requests per minute" },
  },
  tokens_per_minute: {
    schema: optional(Limit),
    column: "tokens_per_minute",
    changes: true,
    apiName: "max_tokens_per_1_minute",
    form: { label: "Tokens per minute" },
  },
  concurrent_calls: {
    schema: optional(Limit),
    column: "concurrent_calls",
    changes: true,
    apiName: "max_concurrent_calls",
    form: { label: "Concurrent calls" },
  },
});
