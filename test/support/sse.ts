/** An SSE body read to its end: the parsed `data:` payloads in order, and whether `[DONE]` closed it. */
export interface ReadEvents<T> {
  events: T[];
  done: boolean;
}

/** Reads SSE text as a client does that trusts nothing: only `data:` lines, blank lines between events. */
export function parseEvents<T = Record<string, unknown>>(text: string): ReadEvents<T> {
  const events: T[] = [];
  let done = false;
  for (const block of text.split(/\r?\n\r?\n/)) {
    const lines = block.split(/\r?\n/).filter((line) => line.startsWith("data:"));
    if (lines.length === 0) continue;
    if (done) throw new Error(`An event came after [DONE]: ${block}`);
    const data = lines.map((line) => line.slice(5).replace(/^ /, "")).join("\n");
    if (data === "[DONE]") done = true;
    else events.push(JSON.parse(data) as T);
  }
  return { events, done };
}
