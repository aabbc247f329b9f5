const lineCharactersMax = 4_000;

let stampedAt = -1;
let stamp = "";

/** An event as one JSON object. */
export function jsonLine(atMs: number, level: string, event: string, fields: Record<string, unknown>): string {
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

const colours: Readonly<Record<string, string>> = { debug: "2", info: "32", warn: "33", error: "31" };

/** Makes lines for people: the time of day, the level, the event, and each field as `name=value`. */
export function prettyLine(isColoured: boolean) {
  const colour = (code: string, text: string) => (isColoured ? `\u001b[${code}m${text}\u001b[0m` : text);
  return (atMs: number, level: string, event: string, fields: Record<string, unknown>): string => {
    const time = new Date(atMs).toISOString().slice(11, 23);
    const told = Object.entries(fields).filter(([, value]) => value !== undefined);
    const words = told.map(([name, value]) => `${colour("2", `${name}=`)}${formatField(value)}`);
    const head = `${colour("2", time)} ${colour(colours[level] ?? "0", level.toUpperCase().padEnd(5))} ${event}`;
    const line = [head, ...words].join(" ");
    return line.length > lineCharactersMax ? `${line.slice(0, lineCharactersMax)}…` : line;
  };
}

/** A value within one line: text with spaces or other signs stands in quotes, and so no field can feign another. */
function formatField(value: unknown): string {
  if (value instanceof Error) return JSON.stringify(`${value.name}: ${value.message}`);
  if (typeof value === "string") return /^[\w.:/+@-]+$/.test(value) ? value : JSON.stringify(value);
  if (value === null || typeof value !== "object") return String(value);
  const parts = Object.entries(value).filter(([, part]) => part !== undefined);
  if (Array.isArray(value) || parts.some(([, part]) => typeof part === "object")) return JSON.stringify(value);
  return parts.map(([name, part]) => `${name}:${formatField(part)}`).join(",");
}
