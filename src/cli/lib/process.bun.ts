import { readFileSync } from "node:fs";

/** The exit codes by which shells report that a signal ended a process. */
const exitCodes = { SIGHUP: 129, SIGINT: 130, SIGTERM: 143 } as const;
type EndSignal = keyof typeof exitCodes;

/**
 * The signals that end a process in order. SIGHUP is none of them where whoever started the process has it ignored, as `nohup`
 * does: a listener would undo that. Only Linux says so.
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

/** Interval in which a worker shows its parent that it runs. */
export const signOfLifeMs = 1000;

/**
 * The same for a worker, which its parent ends. A terminal sends SIGINT and SIGHUP to the whole process group, so a worker ignores
 * them; when the parent dies, the worker's standard input closes and ends the worker. From now on the parent gets signs of life.
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
