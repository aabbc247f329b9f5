import type { CallObserver } from "../kernel/index.ts";

/** Two that look on as one. */
export function combineObservers(one: CallObserver, other: CallObserver): CallObserver {
  return {
    attempted(progress, route, startedMs, error) {
      one.attempted(progress, route, startedMs, error);
      other.attempted(progress, route, startedMs, error);
    },
    ended(progress, capability, isStreamed, request) {
      one.ended(progress, capability, isStreamed, request);
      other.ended(progress, capability, isStreamed, request);
    },
    refused(code) {
      one.refused(code);
      other.refused(code);
    },
  };
}
