import { parseArgs } from "node:util";
import { listVariables } from "../config/index.ts";
import { didYouMean } from "../lib/did-you-mean.ts";
import { moduleSettings } from "../modules/index.ts";
import { type Command, UsageError } from "./command.ts";

/** One parsed command line. */
export interface Arguments {
  readonly command: Command | undefined;
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly args: Readonly<Record<string, string>>;
  readonly json: boolean;
  readonly help: boolean;
  /** A group such as `account`, when the help of the group is requested. */
  readonly group: string | undefined;
}

const commonFlags = { help: { type: "boolean", short: "h" }, json: { type: "boolean" } } as const;

/**
 * Finds the command and its flags.
 *
 * @throws {UsageError} Naming the most similar command or flag.
 */
export function parseArguments(argv: readonly string[], commands: readonly Command[]): Arguments {
  const { words, rest } = splitWords(argv);
  const command = findCommand(words, commands);
  if (command === undefined) return parseWithoutCommand(words, rest, commands);
  const positionals = words.slice(command.name.split(" ").length);
  const parsed = parseFlags([...positionals, ...rest], command);
  const { help, json, ...flags } = parsed.flags;
  const common = { command, json: json !== undefined, help: help !== undefined, group: undefined };
  if (common.help) return { ...common, flags: {}, args: {} };
  requireFlags(flags, command);
  return { ...common, flags, args: requireArgs(parsed.positionals, command) };
}

/** Splits off the flags; before the first flag are the command and its arguments. */
function splitWords(argv: readonly string[]): { words: readonly string[]; rest: readonly string[] } {
  const first = argv.findIndex((word) => word.startsWith("-"));
  return first === -1 ? { words: argv, rest: [] } : { words: argv.slice(0, first), rest: argv.slice(first) };
}

function findCommand(words: readonly string[], commands: readonly Command[]): Command | undefined {
  const matches = commands.filter(({ name }) => name.split(" ").every((part, index) => words[index] === part));
  // The longest name wins: `export calls` is a separate command from `export`.
  return matches.sort((one, other) => other.name.length - one.name.length)[0];
}

function parseWithoutCommand(
  words: readonly string[],
  rest: readonly string[],
  commands: readonly Command[],
): Arguments {
  const help = rest.includes("--help") || rest.includes("-h") || words[0] === "help";
  const requested = words[0] === "help" ? words.slice(1) : words;
  const json = rest.includes("--json");
  const command = words[0] === "help" ? findCommand(requested, commands) : undefined;
  if (command !== undefined) return { command, flags: {}, args: {}, json, help: true, group: undefined };
  const group = requested[0];
  const isGroup = commands.some(({ name }) => name.startsWith(`${group} `));
  if (group === undefined || (isGroup && requested.length === 1 && help)) {
    const stray = rest.find((word) => !["--help", "-h", "--json"].includes(word));
    if (stray !== undefined) throw refuseStray(stray);
    return { command: undefined, flags: {}, args: {}, json, help, group };
  }
  throw new UsageError(describeUnknownCommand(requested, commands, isGroup));
}

/** A word behind a flag may be meant as the command: `--json account list`. */
function refuseStray(word: string): UsageError {
  if (!word.startsWith("-")) {
    return new UsageError(
      `Unexpected ${JSON.stringify(word)} after a flag, expected the command first; see modelgate --help`,
    );
  }
  const [param] = word.split("=");
  return new UsageError(`Unknown flag ${word}, expected a command first; see modelgate --help`, { param });
}

function describeUnknownCommand(words: readonly string[], commands: readonly Command[], isGroup: boolean): string {
  const names = commands.map(({ name }) => name);
  const [first = "", verb] = words;
  const within = names.filter((name) => name.startsWith(`${first} `));
  if (isGroup && verb === undefined) return `Incomplete command ${first}, expected one of: ${within.join(", ")}`;
  const written = words.slice(0, 2).join(" ");
  const groups = names.map((name) => name.split(" ")[0] as string);
  const near = isGroup ? didYouMean(written, within) : (didYouMean(written, names) ?? didYouMean(first, groups));
  if (near !== undefined) return `Unknown command ${written}, did you mean ${near}?`;
  return `Unknown command ${written}, ${isGroup ? `expected one of: ${within.join(", ")}` : "see modelgate --help"}`;
}

function parseFlags(argv: readonly string[], command: Command) {
  const types = Object.entries(command.flags).map(([name, { value }]) => [name, value === "" ? "boolean" : "string"]);
  const flagTypes: Record<string, { type: "boolean" | "string"; short?: string }> = {
    ...Object.fromEntries(types.map(([name, type]) => [name, { type }])),
    ...commonFlags,
  };
  const options = { args: [...argv], options: flagTypes, strict: false, allowPositionals: true, tokens: true } as const;
  const { tokens, positionals } = parseArgs(options);
  const flags: Record<string, string> = {};
  for (const token of tokens) {
    if (token.kind !== "option") continue;
    const { name, value, inlineValue, index } = token;
    const written = (argv[index] as string).split("=")[0] as string;
    const flag = `Flag ${written} of ${command.name}`;
    if (!Object.hasOwn(flagTypes, name)) {
      const hint = getHint(name, Object.keys(flagTypes)) ?? `see modelgate ${command.name} --help`;
      throw new UsageError(`Unknown flag ${written} of ${command.name}, ${hint}`, { param: written });
    }
    const refuse = (problem: string) => new UsageError(`${flag} ${problem}`, { param: written });
    if (Object.hasOwn(flags, name)) throw refuse("is set twice, expected once");
    const { value: placeholder = "" } = command.flags[name] ?? {};
    if (placeholder === "" && value !== undefined) throw refuse("takes no value");
    // A separate value with a dash is a number or another flag.
    if (placeholder !== "" && (value === undefined || (!inlineValue && /^-[^\d.]/.test(value)))) {
      throw refuse(`has no value, expected ${written} ${placeholder}`);
    }
    flags[name] = value === undefined ? "yes" : value.trim();
    if (flags[name] === "") throw refuse(`is empty, expected ${placeholder}`);
  }
  return { flags, positionals };
}

function requireFlags(flags: Readonly<Record<string, string>>, command: Command): void {
  for (const [name, { value, required }] of Object.entries(command.flags)) {
    if (!required || flags[name] !== undefined) continue;
    throw new UsageError(`Missing --${name} ${value}, expected modelgate ${command.example}`, { param: `--${name}` });
  }
}

function requireArgs(positionals: readonly string[], command: Command): Record<string, string> {
  const extra = positionals[command.args.length];
  if (extra !== undefined) {
    const usage = [`modelgate ${command.name}`, ...command.args].join(" ");
    throw new UsageError(`Unexpected ${JSON.stringify(extra)} after ${command.name}, expected ${usage}`);
  }
  return Object.fromEntries(
    command.args.map((name, index) => {
      const value = positionals[index];
      if (value === undefined)
        throw new UsageError(`Missing ${name}, expected modelgate ${command.example}`, { param: name });
      return [name, value];
    }),
  );
}

/** Users of other servers try `--port 80`; here it is an environment variable. */
function getHint(name: string, flags: readonly string[]): string | undefined {
  const variable = name.toUpperCase().replaceAll("-", "_");
  if (listVariables(moduleSettings).includes(variable)) return `set the environment variable ${variable}`;
  const near = didYouMean(name, flags);
  return near === undefined ? undefined : `did you mean --${near}?`;
}
