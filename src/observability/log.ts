import type { Log } from "../kernel/index.ts";
import { describeError, nameError } from "../lib/describe-error.ts";
import { toTerminalText } from "../lib/terminal-text.ts";

export const logLevels = ["debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof logLevels)[number];

/** One event as text, without the line's end. */
export type LineFormat = (atMs: number, level: string, event: string, fields: Record<string, unknown>) => string;

const flushMs = 100;
/** The buffer for a blocked writer: about a second of a busy gateway's lines. */
const bufferCharactersMax = 4 * 1024 * 1024;

/** An event for a {@link LogSink}. */
export interface LoggedEvent {
  readonly atMs: number;
  readonly level: string;
  readonly event: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Removes secrets from a text. */
  hide(text: string): string;
}

/** Receives events in addition to the log lines. */
export type LogSink = (event: LoggedEvent) => void;

/** A log that can be flushed and closed. */
export interface OpenLog extends Log {
  /** Also passes all further events to `sink`. */
  sendTo(sink: LogSink): void;
  /** Lines dropped so far, because the writer was blocked and the buffer full. */
  readonly dropped: number;
  /** Writes buffered lines. */
  flush(): void;
  /** Writes buffered lines; returns whether that finished in time. */
  close(msMax: number): Promise<boolean>;
}

/** Options of {@link createLog}. */
export interface LogOptions {
  now?: () => number;
  format?: LineFormat;
  /** Removes secrets from lines. `info` lines are skipped: only the other levels contain text of others. */
  redact?: ((text: string) => string) | undefined;
}

/**
 * Logs one line per event. Lines are written in batches every 100 ms, because a write per call is expensive.
 *
 * @param write Writes lines. While a returned promise is pending, lines are buffered; lines beyond 4 MB are dropped and
 * counted. So a log that is not read neither blocks calls nor fills the memory.
 */
export function createLog(level: LogLevel, write: (text: string) => unknown, options: LogOptions = {}): OpenLog {
  const { now = Date.now, format = jsonLine, redact } = options;
  const leastLevel = logLevels.indexOf(level);
  let buffer = "";
  let timer: ReturnType<typeof setTimeout> | undefined;
  let writing: Promise<unknown> | undefined;
  let dropped = 0;
  let reported = 0;
  let sink: LogSink | undefined;
  const asItIs = (text: string) => text;
  const flush = () => {
    clearTimeout(timer);
    timer = undefined;
    if (buffer === "" || writing !== undefined) return;
    const text = buffer;
    buffer = "";
    const pending = write(text);
    if (!(pending instanceof Promise)) return;
    const after = () => {
      writing = undefined;
      if (dropped > reported) {
        buffer += `${format(now(), "warn", "log_lines_dropped", { lines: dropped - reported })}\n`;
        reported = dropped;
      }
      if (buffer !== "") timer ??= setTimeout(flush, flushMs);
    };
    writing = pending.then(after, after);
  };
  const at = (name: LogLevel) => {
    if (logLevels.indexOf(name) < leastLevel) return () => undefined;
    return (event: string, fields: Record<string, unknown> = {}) => {
      if (sink !== undefined) {
        const hide = (name === "info" ? undefined : redact) ?? asItIs;
        sink({ atMs: now(), level: name, event, fields, hide });
      }
      if (buffer.length > bufferCharactersMax) {
        dropped++;
        return;
      }
      const line = format(now(), name, event, fields);
      buffer += `${name === "info" || redact === undefined ? line : redact(line)}\n`;
      if (writing === undefined) timer ??= setTimeout(flush, flushMs);
    };
  };
  const close = async (msMax: number) => {
    const late = Promise.withResolvers<boolean>();
    const timeout = setTimeout(() => late.resolve(false), msMax);
    const written = async () => {
      for (;;) {
        flush();
        if (writing === undefined) return true;
        await writing;
      }
    };
    const isWritten = await Promise.race([written(), late.promise]);
    clearTimeout(timeout);
    return isWritten;
  };
  return {
    debug: at("debug"),
    info: at("info"),
    warn: at("warn"),
    error: at("error"),
    sendTo: (other) => {
      sink = other;
    },
    flush,
    close,
    get dropped() {
      return dropped;
    },
  };
}

const lineCharactersMax = 4_000;

let stampedAt = -1;
let stamp = "";

/** Formats an event as one JSON object. */
export function jsonLine(atMs: number, level: string, event: string, fields: Record<string, unknown>): string {
  if (atMs !== stampedAt) {
    stampedAt = atMs;
    stamp = new Date(atMs).toISOString();
  }
  // A replacer function would make every line several times slower, and few have an error.
  const plain = fields.error instanceof Error ? { ...fields, error: describeError(fields.error) } : fields;
  // JSON does not escape everything that a terminal takes for a command.
  const rest = toTerminalText(JSON.stringify(plain));
  const line = `{"time":"${stamp}","level":"${level}","event":"${event}"${rest === "{}" ? "}" : `,${rest.slice(1)}`}`;
  return line.length > lineCharactersMax ? `${line.slice(0, lineCharactersMax)}…` : line;
}

const colours: Readonly<Record<string, string>> = { debug: "2", info: "32", warn: "33", error: "31" };

/** Formats events for people: the time of day, the level, the event, and each field as `name=value`. */
export function prettyLine(isColoured: boolean) {
  const colour = (code: string, text: string) => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text);
  return (atMs: number, level: string, event: string, fields: Record<string, unknown>): string => {
    const time = new Date(atMs).toISOString().slice(11, 23);
    const present = Object.entries(fields).filter(([, value]) => value !== undefined);
    const words = present.map(([name, value]) => `${colour("2", `${name}=`)}${toTerminalText(formatField(value))}`);
    const head = `${colour("2", time)} ${colour(colours[level] ?? "0", level.toUpperCase().padEnd(5))} ${event}`;
    const line = [head, ...words].join(" ");
    return line.length > lineCharactersMax ? `${line.slice(0, lineCharactersMax)}…` : line;
  };
}

/** Formats a value. Text with spaces or special characters is quoted: otherwise a value could imitate another field. */
function formatField(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(nameError(value));
  if (typeof value === "string") return /^[\w.:/+@-]+$/.test(value) ? value : JSON.stringify(value);
  if (value === null || typeof value !== "object") return String(value);
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  if (Array.isArray(value) || parts.some(([, part]) => typeof part === "object")) return JSON.stringify(value);
  return parts.map(([name, part]) => `${name}:${formatField(part)}`).join(",");
}
