import { useSyncExternalStore } from "react";

/** A value outside of the components, which re-render when it changes. */
export function createStore<T>(initial: T) {
  const listeners = new Set<() => void>();
  let value = initial;
  const subscribe = (listener: () => void) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  };
  return {
    get: () => value,
    set(next: T): void {
      value = next;
      for (const listener of listeners) listener();
    },
    use: () => useSyncExternalStore(subscribe, () => value),
  };
}
