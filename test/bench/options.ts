import { parseArgs } from "node:util";

export const parts = [
  "json",
  "stream",
  "prompts",
  "protocols",
  "latency",
  "rates",
  "accounts",
  "profile",
  "memory",
  "translate",
] as const;
/** Parts of a run of their own. */
const onlyIfAsked: readonly Part[] = ["translate", "rates"];
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
  /** Calls a second of the part `rates`. */
  rates: readonly number[];
  roundSeconds: number;
  rounds: number;
  /** Of the part about memory. */
  memoryCalls: number;
  openStreams: number;
  /** After which everything is ended and the bench has failed. */
  secondsMax: number;
}

export const help = `bun run bench [--peers] [--quick] [--plain] [--only PARTS] [--rate RATES] [--json] [--write] [--save FILE]
bun run bench --from FILE [--json] [--write]

  --peers   other gateways too, which are installed into the folder for temporary files
  --quick   short rounds and few calls: a first look, not a figure to quote
  --plain   a provider without TLS
  --only    some parts, by comma: ${parts.join(", ")}; absent: all but translate and rates
  --rate    only what a call costs at these rates, by comma, such as 20,100,300
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
      rate: { type: "string" },
      save: { type: "string" },
      from: { type: "string" },
    },
  });
  if (values.help) return "help";
  const usual = values.rate === undefined ? parts.filter((part) => !onlyIfAsked.includes(part)) : ["rates" as const];
  return {
    parts: values.only === undefined ? usual : values.only.split(",").map(toPart),
    rates: (values.rate ?? "20,100,300").split(",").map(toRate),
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

function toRate(word: string): number {
  const rate = Number(word);
  if (Number.isInteger(rate) && rate >= 1 && rate <= 1000) return rate;
  throw new TypeError(`--rate ${word} is no rate: expected whole numbers from 1 to 1000, by comma`);
}

function toPart(word: string): Part {
  const part = parts.find((known) => known === word.trim());
  if (part === undefined) throw new TypeError(`--only ${word} is no part: expected ${parts.join(", ")}`);
  return part;
}
