import { formatUsd, type KeyLimits } from "../../contract/index.ts";
import { readBudget, readLimit } from "../read-values.ts";

/** The flags that bound a key; of `key set` each takes `none` too. */
export const boundFlags = {
  "budget-usd": { value: "5.00", about: "The most that its premium calls may cost in a UTC month" },
  "requests-per-minute": { value: "N", about: "Requests of the key, beside the limit of its account" },
  "tokens-per-minute": { value: "N", about: "Tokens of the key, beside the limit of its account" },
  "concurrent-calls": { value: "N", about: "Calls of the key at once" },
} as const;

type BoundFlags = { readonly [Name in keyof typeof boundFlags]?: string | undefined };

/** @throws {UsageError} When one of them is no such bound. */
export function readBounds(flags: BoundFlags): KeyLimits {
  return {
    budgetNanodollars: boundOf(flags, "budget-usd", readBudget),
    requestsPerMinute: boundOf(flags, "requests-per-minute", readLimit),
    tokensPerMinute: boundOf(flags, "tokens-per-minute", readLimit),
    concurrentCalls: boundOf(flags, "concurrent-calls", readLimit),
  };
}

/** Likewise, `none` as `null`: the bound is to go. @throws {UsageError} */
export function readBoundChanges(flags: BoundFlags): { [Name in keyof KeyLimits]: KeyLimits[Name] | null } {
  const orNone = (read: Read) => (flag: string, text: string) => (text === "none" ? null : read(flag, text));
  return {
    budgetNanodollars: boundOf(flags, "budget-usd", orNone(readBudget)),
    requestsPerMinute: boundOf(flags, "requests-per-minute", orNone(readLimit)),
    tokensPerMinute: boundOf(flags, "tokens-per-minute", orNone(readLimit)),
    concurrentCalls: boundOf(flags, "concurrent-calls", orNone(readLimit)),
  };
}

type Read = (flag: string, text: string) => number;

function boundOf<Value>(flags: BoundFlags, name: keyof BoundFlags, read: (flag: string, text: string) => Value) {
  const text = flags[name];
  return text === undefined ? undefined : read(`--${name}`, text);
}

/** The bounds of a key for programs: `null` for what it has not. */
export function boundsJson(bounds: KeyLimits) {
  return {
    budget_usd: bounds.budgetNanodollars === undefined ? null : formatUsd(bounds.budgetNanodollars),
    requests_per_minute: bounds.requestsPerMinute ?? null,
    tokens_per_minute: bounds.tokensPerMinute ?? null,
    concurrent_calls: bounds.concurrentCalls ?? null,
  };
}
