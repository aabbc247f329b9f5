import { readFileSync } from "node:fs";

/** Exit codes that shells use for a process that was ended by a signal. */
const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
type EndSignal = keyof typeof exitCodes;

/**
 * Signals that request an orderly end of the process. SIGHUP is not among them if the process was started with SIGHUP
 * ignored, as `nohup` does: a listener would undo that. Only Linux reports this.
 */
function getEndSignals(): EndSignal[] {
  const signals = Object.keys(exitCodes) as EndSignal[];
  return isHangupIgnored() ? signals.filter((signal) => signal !== "SIGHUP") : signals;
}

function isHangupIgnored(): boolean {
  if (process.platform !== "linux") return false;
  const [, ignored] = /^SigIgn:\s*([0-9a-f]+)$/m.exec(readFileSync("/proc/self/status", "utf8")) ?? [];
  // The lowest bit stands for signal 1, SIGHUP.
  return ignored !== undefined && (BigInt(`0x${ignored}`) & 1n) === 1n;
}

/** The command line that starts this program again: the binary by itself, the source with its Bun. */
export function getSelfCommand(args: readonly string[]): string[] {
  const isCompiled = Bun.main.startsWith("/$bunfs/");
  return [process.execPath, ...(isCompiled ? [] : [Bun.main]), ...args];
}

/** Requests to end the process. */
export interface ShutdownSignals {
  /** Resolves at the first one. */
  readonly first: Promise<void>;
  /** Removes the listeners. */
  stop(): void;
}

/** Listens for SIGTERM, SIGINT, and SIGHUP of a terminal that closes. The second one exits at once, after `onSecond`; the next start recovers open calls. */
export function watchSignals(onSecond: () => void): ShutdownSignals {
  const { promise, resolve } = Promise.withResolvers<void>();
  let count = 0;
  const listener = (signal: EndSignal) => {
    resolve();
    if (++count < 2) return;
    onSecond();
    process.exit(exitCodes[signal]);
  };
  const endSignals = getEndSignals();
  for (const signal of endSignals) process.on(signal, listener);
  return {
    first: promise,
    stop() {
      for (const signal of endSignals) process.off(signal, listener);
    },
  };
}

/** Interval between the messages that show a parent that its worker runs. */
export const signOfLifeMs = 1000;

/**
 * Listens for the end of a worker. Its parent ends it with SIGTERM. A terminal sends SIGINT and SIGHUP to the whole
 * process group, so a worker ignores them. If the parent dies, the worker's standard input closes, which ends the
 * worker too. From this call on, the worker sends its parent signs of life.
 */
export function watchParent(): ShutdownSignals {
  const { promise, resolve } = Promise.withResolvers<void>();
  const [end, ignore] = [() => resolve(), () => undefined];
  process.on("SIGTERM", end).on("SIGINT", ignore).on("SIGHUP", ignore);
  process.stdin.once("end", end).resume();
  const giveSign = () => {
    // A parent that died has ended the channel a moment before it ends this process.
    if (process.connected) process.send?.("alive");
  };
  giveSign();
  const signs = setInterval(giveSign, signOfLifeMs);
  return {
    first: promise,
    stop() {
      process.off("SIGTERM", end).off("SIGINT", ignore).off("SIGHUP", ignore);
      clearInterval(signs);
      if (process.connected) process.disconnect?.();
      // An open standard input would keep the worker alive.
      process.stdin.destroy();
    },
  };
}
