import { sql } from "kysely";
import { GatewayError } from "../../contract/index.ts";
import { withTimeout } from "../../ledger/index.ts";
import type { HttpDeps } from "../deps.ts";

/** Longer than a busy store takes, and shorter than a person's patience. */
const storeMsMax = 2000;

/**
 * Bounds how long a request of the dashboard waits for the store.
 *
 * @throws {GatewayError} `unavailable` when the store fails, or does not answer within two seconds.
 */
export async function withStoreTimeout<Answer>(deps: HttpDeps, answer: Promise<Answer>): Promise<Answer> {
  try {
    return await withTimeout(answer, storeMsMax);
  } catch (error) {
    warnThrottled(deps, "store_not_read", error);
    const message = "The gateway's database does not answer, and nothing was changed; try again";
    throw new GatewayError("unavailable", message, { retryAfterMs: 1000, cause: error });
  }
}

/** Checks that the store answers, before something that needs it is begun. @throws {GatewayError} `unavailable` */
export async function expectStore(deps: HttpDeps): Promise<void> {
  await withStoreTimeout(deps, sql`select 1`.execute(deps.store.db));
}

const throttleMs = 10_000;
const warnedAt = new WeakMap<HttpDeps, Map<string, number>>();

/** Logs a failure that every open page repeats: once in ten seconds. */
export function warnThrottled(deps: HttpDeps, event: string, error: unknown): void {
  let times = warnedAt.get(deps);
  if (times === undefined) {
    times = new Map();
    warnedAt.set(deps, times);
  }
  const now = deps.kernel.now();
  const last = times.get(event);
  if (last !== undefined && now < last + throttleMs) return;
  times.set(event, now);
  deps.log.warn(event, { error });
}
