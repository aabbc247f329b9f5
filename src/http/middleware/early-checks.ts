import { RateLimiter } from "../../accounts/index.ts";
import { GatewayError } from "../../contract/index.ts";
import { findCandidates } from "../../kernel/index.ts";
import { isRecord } from "../../sdk/index.ts";
import type { HttpDeps } from "../deps.ts";
import type { HttpCall } from "./handle-call.ts";

/** Bodies from this size on are worth a look at the limits before they are validated and translated. */
const largeBytes = 64 * 1024;

/**
 * Refuses a call before its body is validated and translated: for a model that does not exist or that the key may not use,
 * and, when the body is large, for a rate limit that is reached. Admission decides later; this only saves the work.
 *
 * @throws {GatewayError} `model_not_found`, `model_not_allowed` or `rate_limit_exceeded`.
 */
export async function checkEarly(deps: HttpDeps, body: unknown, call: HttpCall): Promise<void> {
  const { caller } = call;
  if (isRecord(body) && typeof body.model === "string") findModel(deps, body.model, call, body.stream === true);
  const length = call.httpRequest.headers.get("content-length");
  if (length !== null && Number(length) < largeBytes) return;
  const { limitRequests, remainingRequests, resetRequestsMs } = await deps.ledger.readLimitState(caller);
  if (remainingRequests >= 1 || resetRequestsMs <= 0) return;
  const retryAfterMs = Math.min(resetRequestsMs, Math.ceil(60_000 / limitRequests));
  const sentence = `Request limit reached: ${limitRequests} requests a minute; try again in ${Math.ceil(retryAfterMs / 100) / 10} s`;
  throw new GatewayError("rate_limit_exceeded", sentence, { retryAfterMs });
}

/** Sets the model of a call that may never reach the kernel's pipeline. @throws {GatewayError} */
function findModel({ kernel }: HttpDeps, name: string, call: HttpCall, isStream: boolean): void {
  call.capability = "chat";
  call.candidates = findCandidates(kernel, name, call, isStream);
  call.modelEntry = call.candidates[0].modelEntry;
  call.model = call.modelEntry.model.id;
}

/** Limits the free counts of tokens, by account in this process, to as many a minute as there may be calls. */
export class CountLimiter {
  readonly #limits: RateLimiter;

  constructor(now: () => number) {
    this.#limits = new RateLimiter(0, now, { what: "counts of tokens" });
  }

  /** @throws {GatewayError} `rate_limit_exceeded` */
  take({ caller: { accountId, limits } }: HttpCall): void {
    this.#limits.take(accountId, limits.requestsPerMinute);
  }
}
