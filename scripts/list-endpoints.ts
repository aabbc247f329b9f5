import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pluralOf } from "../src/http/resources/resource.ts";

const page = join(import.meta.dirname, "../docs/management-api.md");
const marks = /(<!-- endpoints: made by `bun run endpoints:list` -->\n\n).*?(\n\n<!-- endpoints: end -->)/s;
const prefix = "/v1/organization";

/** The parts of the OpenAPI document that the table has. */
export interface ApiDescription {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly summary: string;
  readonly security: readonly { readonly admin: readonly string[] }[];
}

/** Returns the text of docs/management-api.md with the table of its endpoints, one row a path. */
export function writeEndpoints(text: string, { paths }: ApiDescription): string {
  const rows = Object.entries(paths)
    .filter(([path]) => path.startsWith(`${prefix}/`))
    .map(([path, methods]) => [path.slice(prefix.length), Object.entries(methods)] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([path, operations]) => [
      `\`${path}\``,
      operations.map(([method]) => method.toUpperCase()).join(", "),
      scopeOf(operations),
      describe(operations.map(([, { summary }]) => summary)),
    ]);
  return text.replace(marks, (_, start: string, end: string) => `${start}${toTable(rows)}${end}`);
}

/** Returns the area where reads need `:read` and writes `:write`, otherwise the scope; empty where the content decides. */
function scopeOf(operations: readonly (readonly [string, Operation])[]): string {
  const scopes = operations.map(([method, { security }]) => {
    const [scope = ""] = security[0]?.admin ?? [];
    return scope.replace(method === "get" ? ":read" : ":write", "");
  });
  return [...new Set(scopes)].join(", ");
}

/** Says what a path is: the thing that is read, and what is done that its methods do not say. */
function describe(summaries: readonly string[]): string {
  // The path has the owner.
  const [first = "", ...others] = summaries.map((summary) => summary.replace(/ of (a project|the gateway)(?!')/g, ""));
  const thing = first.replace(/^(List|Retrieve) (the )?/, "");
  const isPlain = (summary: string) => {
    const [, changed = ""] = /^(?:Change|Create|Delete|Remove|Replace|Set|Modify) (?:the )?(.*)$/.exec(summary) ?? [];
    return changed === thing || thing === pluralOf(changed.replace(/^an? /, ""));
  };
  return [thing, ...others.filter((summary) => !isPlain(summary))]
    .map((text) => text.replace(/^[a-z]/, (letter) => letter.toUpperCase()))
    .join(". ");
}

function toTable(rows: readonly (readonly string[])[]): string {
  const head = ["path", "methods", "scope", "what it is"];
  const widths = head.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const toLine = (cells: readonly string[]) =>
    `| ${cells.map((cell, column) => cell.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [toLine(head), toLine(widths.map((width) => "-".repeat(width))), ...rows.map(toLine)].join("\n");
}

/** Reads the description of a gateway that is started for it. */
async function readDescription(): Promise<ApiDescription> {
  const home = mkdtempSync(join(tmpdir(), "modelgate-endpoints-"));
  const gateway = Bun.spawn([process.execPath, join(import.meta.dirname, "../src/main.ts"), "serve"], {
    env: { PATH: process.env.PATH ?? "", MODELGATE_HOME: home, HOST: "127.0.0.1", PORT: "0" },
    stdout: "pipe",
  });
  try {
    const [, origin] = /Dashboard +(http\S+)\//.exec(await readUntil(gateway.stdout, "Dashboard")) ?? [];
    return (await (await fetch(`${origin}/openapi.json`)).json()) as ApiDescription;
  } finally {
    gateway.kill();
    await gateway.exited;
    rmSync(home, { recursive: true });
  }
}

/** Returns what is printed, up to the part with this text. */
async function readUntil(output: ReadableStream<Uint8Array>, text: string): Promise<string> {
  const decoder = new TextDecoder();
  let printed = "";
  for await (const bytes of output) {
    printed += decoder.decode(bytes, { stream: true });
    if (printed.includes(text)) break;
  }
  return printed;
}

if (import.meta.main) writeFileSync(page, writeEndpoints(readFileSync(page, "utf8"), await readDescription()));
