/** The exit codes by which shells tell a process that a signal ended. */
const exitCodes = { SIGINT: 130, SIGTERM: 143 } as const;

/** What asks a process to end. */
export interface ShutdownSignals {
  /** Resolves at the first. */
  readonly first: Promise<void>;
  /** Looks no longer. */
  stop(): void;
}

/** Watches for SIGTERM and SIGINT. The second ends the process at once, after `onSecond`; its books recover at the next start. */
export function watchSignals(onSecond: () => void): ShutdownSignals {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  const on = (signal: keyof typeof exitCodes) => () => {
    resolve();
    if (++count < 2) return;
    onSecond();
    process.exit(exitCodes[signal]);
  };
  const [term, int] = [on("SIGTERM"), on("SIGINT")];
  process.on("SIGTERM", term).on("SIGINT", int);
  return {
    first: promise,
    stop() {
      process.off("SIGTERM", term).off("SIGINT", int);
    },
  };
}

/**
 * The same for one of several workers. Their parent alone decides: a signal that reaches the whole group, as from a
 * terminal, must not count twice. Its end ends them too.
 */
export function watchParent(): ShutdownSignals {
  const { promise, resolve } = Promise.withResolvers<void>();
  const [end, ignore] = [() => resolve(), () => undefined];
  process.on("SIGTERM", end).on("SIGINT", ignore);
  // A worker's input ends with the process that started it; left open it would keep the worker from ending.
  process.stdin.once("end", end).resume();
  return {
    first: promise,
    stop() {
      process.off("SIGTERM", end).off("SIGINT", ignore);
      process.stdin.destroy();
    },
  };
}
