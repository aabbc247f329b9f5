import type { StoreOptions } from "../../../src/db/index.ts";

/** A path or a URL as an option of `openStore`. A busy machine is no reason for a test to fail, so patience is long. */
export function storeOptions(place: string): StoreOptions {
  return place.startsWith("postgres:") ? { url: place, timeoutMs: 10_000 } : { file: place };
}
