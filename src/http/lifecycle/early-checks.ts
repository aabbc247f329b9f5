import { RateLimiter } from "../../accounts/index.ts";
import { findCandidates } from "../../kernel/index.ts";
import { isRecord } from "../../lib/json.ts";
import type { HttpDeps } from "../deps.ts";
import type { HttpCall } from "./handle-call.ts";

/**
 * Refuses a call before its body is validated and translated, for a model that does not exist or that the key may not use.
 * Admission decides later; this only saves the work.
 *
 * @throws {GatewayError} `model_not_found` or `model_not_allowed`.
 */
export function checkEarly(deps: HttpDeps, body: unknown, call: HttpCall): void {
  if (isRecord(body) && typeof body.model === "string") findModel(deps, body.model, call, body.stream === true);
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
