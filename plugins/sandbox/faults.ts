import { setTimeout as sleep } from "node:timers/promises";
import { classifyError, classifyRefusal, UpstreamError } from "modelgate/plugin";

const delayMsMax = 600_000;
const directive = /\[\[fault:([^\]]{0,200})\]\]/g;

/** Faults that a prompt requests. */
export interface Faults {
  status?: number;
  retryAfter?: string;
  delayMs?: number;
  paceMs?: number;
  breakAfter?: number;
  errorAfter?: number;
  hang: boolean;
  garbage: boolean;
  usageMissing: boolean;
}

/** The settings of a directive whose value is a word or none. docs/providers.md lists these and {@link figures}. */
export const words: Readonly<Record<string, (faults: Faults, value: string) => void>> = {
  hang(faults) {
    faults.hang = true;
  },
  garbage(faults) {
    faults.garbage = true;
  },
  usage(faults, value) {
    if (value === "missing") faults.usageMissing = true;
  },
};

/** The settings whose value is a number. */
export const figures: Readonly<Record<string, (faults: Faults, value: number) => void>> = {
  status(faults, status) {
    if (status >= 400 && status <= 599) faults.status = status;
  },
  "retry-after"(faults, seconds) {
    faults.retryAfter = String(seconds);
  },
  delay(faults, ms) {
    faults.delayMs = ms;
  },
  pace(faults, ms) {
    faults.paceMs = ms;
  },
  break(faults, chunks) {
    faults.breakAfter = chunks;
  },
  error(faults, chunks) {
    faults.errorAfter = chunks;
  },
};

/** The text without its directives, and the faults that they name. Other words are ignored. */
export function readFaults(text: string): { text: string; faults: Faults } {
  const faults: Faults = { hang: false, garbage: false, usageMissing: false };
  const plain = text.replace(directive, (_, settings: string) => {
    for (const setting of settings.trim().split(/\s+/)) {
      const [name = "", value = ""] = setting.split("=");
      read(faults, name, value);
    }
    return "";
  });
  return { text: plain.trim(), faults };
}

/** Applies the faults that come before any answer: waits, then refuses. */
export async function applyFaults(faults: Faults, signal: AbortSignal): Promise<void> {
  if (faults.hang) await sleep(delayMsMax, undefined, { signal });
  if (faults.delayMs !== undefined) await sleep(Math.min(faults.delayMs, delayMsMax), undefined, { signal });
  if (faults.garbage)
    throw new UpstreamError("bad_response", "[sandbox] The provider's answer is not JSON: <html>garbage</html>");
  const { status, retryAfter } = faults;
  if (status === undefined) return;
  const headers = new Headers(retryAfter === undefined ? {} : { "retry-after": retryAfter });
  const error = { message: `[sandbox] This ${status} was asked for`, type: "simulated", param: null, code: null };
  throw classifyRefusal({ status, headers, body: JSON.stringify({ error }) });
}

/** Lets a stream go wrong as asked. */
export async function* withFaults<Chunk>(
  chunks: Iterable<Chunk>,
  faults: Faults,
  signal: AbortSignal,
): AsyncGenerator<Chunk> {
  let count = 0;
  for (const chunk of chunks) {
    if (count === faults.breakAfter) throw cutOff();
    if (count === faults.errorAfter) {
      throw classifyError({ error: { message: "[sandbox] This error was asked for", type: "server_error" } });
    }
    if (count > 0 && faults.paceMs !== undefined)
      await sleep(Math.min(faults.paceMs, delayMsMax), undefined, { signal });
    yield chunk;
    count++;
  }
}

/** Fails a whole answer whose stream would have been cut. */
export function failWhole(faults: Faults): void {
  if (faults.breakAfter !== undefined || faults.errorAfter !== undefined) throw cutOff();
}

function cutOff(): UpstreamError {
  return new UpstreamError("bad_response", "[sandbox] The provider's answer was cut off, as was asked for");
}

function read(faults: Faults, name: string, value: string): void {
  const number = /^\d{1,9}$/.test(value) ? Number(value) : undefined;
  if (Object.hasOwn(words, name)) words[name]?.(faults, value);
  else if (number !== undefined && Object.hasOwn(figures, name)) figures[name]?.(faults, number);
}
