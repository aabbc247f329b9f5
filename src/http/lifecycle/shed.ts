import type { HttpDeps } from "../deps.ts";

/**
 * Step 1: sheds load. It comes before anything is done for a request, and again once a body has been received.
 *
 * @throws {GatewayError} `unavailable` when the process is overloaded, full or shutting down.
 */
export function shedLoad({ loadShedder }: HttpDeps, nowMs: number): void {
  const refusal = loadShedder.refusal(nowMs);
  if (refusal !== undefined) throw refusal;
}
