import { monotonicNow, type TimeoutScheduler } from "../../../../src/kernel/index.ts";
import {
  type BodyLimits,
  createHeaders,
  HttpClient,
  type HttpRequest,
} from "../../../../src/kernel/upstream/http-client.ts";
import { FakeClock } from "../support.ts";

/** A client over the platform's `fetch` and a clock that stands until it is moved. */
export function openClient(tls?: { ca: string }) {
  const clock = new FakeClock();
  const verifying = tls === undefined ? fetch : (new Bun.FetchSession({ tls }).fetch as typeof fetch);
  return { client: new HttpClient(verifying, clock.now), clock };
}

/** A request to a base URL, with everything else as a test does not care. */
export function requestTo(baseUrl: string, changes: Partial<HttpRequest> = {}): HttpRequest {
  const { signal } = new AbortController();
  return { baseUrl, path: "/chat", method: "POST", headers: createHeaders(), body: "{}", signal, ...changes };
}

/** Sends a request and reads the whole response. */
export const requestText = async (client: HttpClient, baseUrl: string, changes: Partial<HttpRequest> = {}) =>
  (await client.request(requestTo(baseUrl, changes))).text();

/** Limits for the reading of a body, wide unless told otherwise. */
export function readLimitState(timeouts: TimeoutScheduler, bytesMax = Number.MAX_SAFE_INTEGER): BodyLimits {
  const toUpstreamError = (error: unknown) => error as Error;
  return { timeouts, now: monotonicNow, idleMsMax: 60_000, bytesMax, onIdle: () => undefined, toUpstreamError };
}
