import { type CacheMissKind, isAmount } from "../contract/index.ts";
import type { CacheReport } from "../provider/index.ts";

/** A provider's word on its cache; `undefined` for a text that is no word. It goes into the request log. */
export function toCacheReport(
  reason: unknown,
  tokens: unknown,
  kinds: ReadonlyMap<string, CacheMissKind>,
): CacheReport | undefined {
  if (typeof reason !== "string" || !/^[a-z_]{1,64}$/.test(reason)) return undefined;
  return { reason, kind: kinds.get(reason), tokens: isAmount(tokens) ? tokens : undefined };
}
