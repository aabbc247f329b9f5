import type { Log } from "./kernel/index.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

const lineCharactersMax = 4_000;
const flushMs = 100;

/** A log, and the means to have its last lines written. */
export interface OpenLog extends Log {
  flush(): void;
}

interface LogOptions {
  now?: () => number;
  /** Takes secrets out of a line. Lines of a level above or below `info` alone, as those hold what others said. */
  hide?: ((text: string) => string) | undefined;
}

/**
 * One JSON line an event. Lines are gathered and written every 100 ms, because a write for each call would cost as
 * much as its bookkeeping.
 */
export function createLog(
  level: LogLevel,
  write: (text: string) => void,
  { now = Date.now, hide }: LogOptions = {},
): OpenLog {
  const least = logLevels.indexOf(level);
  let waiting = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (waiting === "") return;
    const text = waiting;
    waiting = "";
    write(text);
  };
  const at = (name: LogLevel) => {
    if (logLevels.indexOf(name) < least) return () => undefined;
    return (event: string, fields: Record<string, unknown> = {}) => {
      const line = toLine(now(), name, event, fields);
      waiting += `${name === "info" || hide === undefined ? line : hide(line)}\n`;
      timer ??= setTimeout(flush, flushMs);
    };
  };
  return { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error"), flush };
}

let stampedAt = -1;
let stamp = "";

function toLine(atMs: number, level: string, event: string, fields: Record<string, unknown>): string {
  if (atMs !== stampedAt) {
    stampedAt = atMs;
    stamp = new Date(atMs).toISOString();
  }
  // A replacer function would make every line several times as dear, and few have an error.
  const plain = fields.error instanceof Error ? { ...fields, error: describe(fields.error) } : fields;
  const rest = JSON.stringify(plain);
  const line = `{"time":"${stamp}","level":"${level}","event":"${event}"${rest === "{}" ? "}" : `,${rest.slice(1)}`}`;
  return line.length > lineCharactersMax ? `${line.slice(0, lineCharactersMax)}…` : line;
}

function describe(error: Error): Record<string, unknown> {
  const { name, message, stack, cause } = error;
  return {
    name,
    message,
    stack,
    ...(cause !== undefined && { cause: cause instanceof Error ? cause.message : cause }),
  };
}
