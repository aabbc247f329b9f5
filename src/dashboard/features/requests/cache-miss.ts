import { formatCount, formatUsd } from "../../format.ts";
import type { LoggedRequest } from "./api.ts";

export type CacheMiss = NonNullable<LoggedRequest["cache_miss"]>;

/** Why caches are missed, as names of groups. */
export const missNames: Readonly<Record<CacheMiss["kind"], string>> = {
  first_seen: "first turns",
  expired: "expired caches",
  tools: "changed tools",
  system: "changed system prompts",
  messages: "changed messages",
  model: "other models",
  settings: "changed settings",
  other_route: "other providers or keys",
  below_minimum: "short prompts",
  not_marked: "prompts without marks",
  provider: "the provider",
};

/** Why without a place in the request. */
const reasons: Partial<Record<CacheMiss["kind"], string>> = {
  first_seen: "the session had no turn before",
  expired: "the cache had expired",
  model: "another model had the turn before",
  settings: "a setting changed",
  other_route: "another provider or key had the turn before",
  below_minimum: "the prompt is shorter than the provider keeps",
  not_marked: "the turn before was not marked for a cache",
  provider: "the provider did not keep it",
};

/** Such as `tools[3] changed; 41,200 tokens, $0.12`. */
export function describeMiss({ kind, place, tokens, lost_usd: lost }: CacheMiss): string {
  const reason = place === null ? (reasons[kind] ?? `${missNames[kind]}`) : `${place} changed`;
  return `${reason}; ${formatCount(tokens)} tokens${lost === null ? "" : `, ${formatUsd(lost)}`}`;
}
