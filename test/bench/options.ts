import { parseArgs } from "node:util";

export const parts = [
  "json",
  "stream",
  "prompts",
  "protocols",
  "latency",
  "accounts",
  "profile",
  "memory",
  "translate",
] as const;
export type Part = (typeof parts)[number];

export interface Options {
  parts: readonly Part[];
  /** Prints one JSON value instead of tables. */
  json: boolean;
  /** The provider speaks plain HTTP instead of TLS. */
  plain: boolean;
  /** Measures the peers too. */
  peers: boolean;
  /** Writes the tables into the pages of the documentation. */
  write: boolean;
  /** Where the results are kept, or are read from. */
  saveTo: string | undefined;
  readFrom: string | undefined;
  roundSeconds: number;
  rounds: number;
  /** Of the part about memory. */
  memoryCalls: number;
  openStreams: number;
  /** After which everything is ended and the bench has failed. */
  secondsMax: number;
}

export const help = `bun run bench [--peers] [--quick] [--plain] [--only PARTS] [--json] [--write] [--save FILE]
bun run bench --from FILE [--json] [--write]

  --peers   other gateways too, which are installed into the folder for temporary files
  --quick   short rounds and few calls: a first look, not a figure to quote
  --plain   a provider without TLS
  --only    some parts, by comma: ${parts.join(", ")}; absent: all but translate
  --json    prints one JSON value
  --write   writes the tables into docs/benchmarks.md
  --save    keeps the results as JSON, which --from reads`;

/** @throws {TypeError} When an option is unknown or has a value that is none of its own. */
export function readOptions(args: string[]): Options | "help" {
  const { values } = parseArgs({
    args,
    options: {
      quick: { type: "boolean", default: false },
      json: { type: "boolean", default: false },
      plain: { type: "boolean", default: false },
      peers: { type: "boolean", default: false },
      write: { type: "boolean", default: false },
      help: { type: "boolean", short: "h", default: false },
      only: { type: "string" },
      save: { type: "string" },
      from: { type: "string" },
    },
  });
  if (values.help) return "help";
  return {
    parts:
      values.only === undefined ? parts.filter((part) => part !== "translate") : values.only.split(",").map(toPart),
    json: values.json,
    plain: values.plain,
    peers: values.peers,
    write: values.write,
    saveTo: values.save,
    readFrom: values.from,
    // wrk knows whole seconds only.
    roundSeconds: values.quick || values.peers ? 1 : 2,
    rounds: values.quick || values.peers ? 2 : 3,
    memoryCalls: values.quick ? 10_000 : 200_000,
    openStreams: values.quick ? 1000 : 9900,
    secondsMax: 1200,
  };
}

function toPart(word: string): Part {
  const part = parts.find((known) => known === word.trim());
  if (part === undefined) throw new TypeError(`--only ${word} is no part: expected ${parts.join(", ")}`);
  return part;
}
