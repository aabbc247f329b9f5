import { parseArgs } from "node:util";

export const parts = ["json", "stream", "prompts", "protocols", "books", "translate", "start", "rss"] as const;
export type Part = (typeof parts)[number];

export interface Options {
  parts: readonly Part[];
  /** Prints one JSON value instead of tables. */
  json: boolean;
  /** The provider speaks plain HTTP instead of TLS. */
  plain: boolean;
  /** Measures the peers, and nothing else. */
  peers: boolean;
  /** Writes the tables of the peers into docs/benchmarks.md. */
  write: boolean;
  roundSeconds: number;
  rounds: number;
  /** Calls after which memory is looked at. */
  rssCalls: number;
  /** After which everything is ended and the bench has failed. */
  secondsMax: number;
}

export const help = `bun run bench [--quick] [--long] [--plain] [--only ${parts.join("|")}] [--json]
bun run bench --peers [--quick] [--json] [--write]

  --quick   short rounds of one second: a first look, not a figure to quote
  --long    looks at memory after 200 000 calls instead of 20 000
  --plain   a provider without TLS, as before 0.2
  --only    one part, or several by comma
  --peers   the same job for other gateways, which are installed into the folder for temporary files: up to 12 minutes
  --write   writes the peers' tables into docs/benchmarks.md too
  --json    prints one JSON value`;

/** @throws {TypeError} When an option is unknown or has a value that is none of its own. */
export function readOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      long: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      plain: { type: "boolean", default: false },
      peers: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      only: { type: "string" },
    },
  });
  if (values.help) return "help";
  return {
    parts: values.only === undefined ? parts : values.only.split(",").map(toPart),
    json: values.json,
    plain: values.plain,
    peers: values.peers,
    write: values.write,
    roundSeconds: values.quick ? 1 : 2,
    rounds: values.quick ? 2 : 3,
    rssCalls: values.long ? 200_000 : values.quick ? 5_000 : 20_000,
    secondsMax: values.peers ? 720 : values.long ? 900 : 480,
  };
}

function toPart(word: string): Part {
  const part = parts.find((known) => known === word.trim());
  if (part === undefined) throw new TypeError(`--only ${word} is no part: expected ${parts.join(", ")}`);
  return part;
}
