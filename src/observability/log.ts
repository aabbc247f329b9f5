import type { Log } from "../kernel/index.ts";
import { jsonLine } from "./log-line.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** One event as text, without the line's end. */
export type LineOf = (atMs: number, level: string, event: string, fields: Record<string, unknown>) => string;

const flushMs = 100;
/** What waits while nobody takes it: about a second of the busiest gateway's lines. */
const waitingCharactersMax = 4 * 1024 * 1024;

/** A log, and the means to have its last lines written. */
export interface OpenLog extends Log {
  /** Lines that were dropped so far, because those before them were not taken. */
  readonly dropped: number;
  /** Writes what waits. */
  flush(): void;
  /** Writes what waits; says whether it was taken within so long. */
  close(msMax: number): Promise<boolean>;
}

/** What {@link createLog} may be told. */
export interface LogOptions {
  now?: () => number;
  lineOf?: LineOf;
  /** Takes secrets out of a line. Lines of a level above or below `info` alone, as those hold what others said. */
  hide?: ((text: string) => string) | undefined;
}

/**
 * One line an event. Lines are gathered and written every 100 ms, because a write for each call would cost as much as
 * its bookkeeping.
 *
 * @param write Takes the lines; where it returns a promise, the next are handed over when that has resolved. What comes
 * meanwhile waits, and beyond 4 MB is dropped and counted: a log that nobody reads stops no call and fills no memory.
 */
export function createLog(level: LogLevel, write: (text: string) => unknown, options: LogOptions = {}): OpenLog {
  const { now = Date.now, lineOf = jsonLine, hide } = options;
  const least = logLevels.indexOf(level);
  let waiting = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let taken: Promise<unknown> | undefined;
  let dropped = 0;
  let told = 0;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting === "" || taken !== undefined) return;
    const text = waiting;
    waiting = "";
    const writing = write(text);
    if (!(writing instanceof Promise)) return;
    const after = () => {
      taken = undefined;
      if (dropped > told) {
        waiting += `${lineOf(now(), "warn", "log_lines_dropped", { lines: dropped - told })}\n`;
        told = dropped;
      }
      if (waiting !== "") timer ??= setTimeout(flush, flushMs);
    };
    taken = writing.then(after, after);
  };
  const at = (name: LogLevel) => {
    if (logLevels.indexOf(name) < least) return () => undefined;
    return (event: string, fields: Record<string, unknown> = {}) => {
      if (waiting.length > waitingCharactersMax) {
        dropped++;
        return;
      }
      const line = lineOf(now(), name, event, fields);
      waiting += `${name === "info" || hide === undefined ? line : hide(line)}\n`;
      if (taken === undefined) timer ??= setTimeout(flush, flushMs);
    };
  };
  const close = async (msMax: number) => {
    const late = Promise.withResolvers<boolean>();
    const patience = setTimeout(() => late.resolve(false), msMax);
    const written = async () => {
      for (;;) {
        flush();
        if (taken === undefined) return true;
        await taken;
      }
    };
    const withTimeout = await Promise.race([written(), late.promise]);
    clearTimeout(patience);
    return withTimeout;
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    flush,
    close,
    get dropped() {
      return dropped;
    },
  };
}
