import type { CallObserver } from "../kernel/index.ts";

/** Two that look on as one. */
export function combineObservers(one: CallObserver, other: CallObserver): CallObserver {
  return {
    attempted(call, route, startedMs, error) {
      one.attempted(call, route, startedMs, error);
      other.attempted(call, route, startedMs, error);
    },
    ended(call, httpRequest) {
      one.ended(call, httpRequest);
      other.ended(call, httpRequest);
    },
    refused(code) {
      one.refused(code);
      other.refused(code);
    },
  };
}
