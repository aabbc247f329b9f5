import { parseArgs } from "node:util";
import { didYouMean } from "../sdk/did-you-mean.ts";
import { type Command, UsageError } from "./command.ts";
import { flagMistake } from "./flag-mistake.ts";

/** The words of one command line, told apart. */
export interface Arguments {
  readonly command: Command | undefined;
  readonly flags: Readonly<Record<string, string | undefined>>;
  readonly args: Readonly<Record<string, string>>;
  readonly json: boolean;
  readonly help: boolean;
  /** The words of a group such as `account`, when help is asked for it alone. */
  readonly group: string | undefined;
}

const everywhere = { help: { type: "boolean", short: "h" }, json: { type: "boolean" } } as const;

/**
 * Finds the command and its flags.
 *
 * @throws {UsageError} Naming the nearest command or flag.
 */
export function readArguments(argv: readonly string[], commands: readonly Command[]): Arguments {
  const { words, rest } = splitWords(argv);
  const command = findCommand(words, commands);
  if (command === undefined) return readWithoutCommand(words, rest, commands);
  const positionals = words.slice(command.name.split(" ").length);
  const parsed = readFlags([...positionals, ...rest], command);
  const { help, json, ...flags } = parsed.values as Record<string, string | boolean | undefined>;
  const known = { command, json: json === true, help: help === true, group: undefined };
  if (help === true) return { ...known, flags: {}, args: {} };
  return { ...known, flags: requireFlags(flags, command), args: requireArgs(parsed.positionals, command) };
}

/** The words before the first flag: the command and its arguments. */
function splitWords(argv: readonly string[]): { words: readonly string[]; rest: readonly string[] } {
  const first = argv.findIndex((word) => word.startsWith("-"));
  return first === -1 ? { words: argv, rest: [] } : { words: argv.slice(0, first), rest: argv.slice(first) };
}

function findCommand(words: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands.find(({ name }) => name.split(" ").every((part, index) => words[index] === part));
}

function readWithoutCommand(
  words: readonly string[],
  rest: readonly string[],
  commands: readonly Command[],
): Arguments {
  const help = rest.includes("--help") || rest.includes("-h") || words[0] === "help";
  const asked = words[0] === "help" ? words.slice(1) : words;
  const json = rest.includes("--json");
  const command = words[0] === "help" ? findCommand(asked, commands) : undefined;
  if (command !== undefined) return { command, flags: {}, args: {}, json, help: true, group: undefined };
  const group = asked[0];
  const isGroup = commands.some(({ name }) => name.startsWith(`${group} `));
  if (group === undefined || (isGroup && asked.length === 1 && help)) {
    const stray = rest.find((word) => !["--help", "-h", "--json"].includes(word));
    if (stray !== undefined)
      throw new UsageError(`Unknown flag ${stray}, expected a command first; see modelgate --help`);
    return { command: undefined, flags: {}, args: {}, json, help, group };
  }
  throw new UsageError(unknownCommand(asked, commands, isGroup));
}

function unknownCommand(words: readonly string[], commands: readonly Command[], isGroup: boolean): string {
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

function readFlags(argv: readonly string[], command: Command) {
  const known = Object.fromEntries(
    Object.entries(command.flags).map(([name, { value }]) => [
      name,
      { type: value === "" ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  try {
    const options = { ...known, ...everywhere };
    const args = joinNegatives(argv, command);
    const parsed = parseArgs({ args, options, strict: true, allowPositionals: true, tokens: true });
    refuseTwice(parsed.tokens, command);
    return parsed;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(flagMistake(error, argv, command), { cause: error });
  }
}

/** `--usd -5` as `--usd=-5`, which is how `parseArgs` wants a value with a dash. */
function joinNegatives(argv: readonly string[], command: Command): string[] {
  const joined: string[] = [];
  for (const word of argv) {
    const before = joined.at(-1);
    const isFlag = before?.startsWith("--") && command.flags[before.slice(2)] !== undefined;
    if (isFlag && /^-[\d.]/.test(word)) joined[joined.length - 1] = `${before}=${word}`;
    else joined.push(word);
  }
  return joined;
}

function refuseTwice(tokens: readonly { kind: string; name?: string }[], command: Command): void {
  const seen = new Set<string>();
  for (const { kind, name } of tokens) {
    if (kind !== "option" || name === undefined) continue;
    if (seen.has(name)) throw new UsageError(`Flag --${name} of ${command.name} is given twice, expected once`);
    seen.add(name);
  }
}

function requireFlags(
  flags: Readonly<Record<string, string | boolean | undefined>>,
  command: Command,
): Record<string, string> {
  const checked: Record<string, string> = {};
  for (const [name, flag] of Object.entries(command.flags)) {
    const value = flags[name];
    if (value === true) checked[name] = "yes";
    else if (typeof value === "string" && value.trim() !== "") checked[name] = value.trim();
    else if (value !== undefined)
      throw new UsageError(`Flag --${name} of ${command.name} is empty, expected ${flag.value}`);
    else if (flag.required)
      throw new UsageError(`Missing --${name} ${flag.value}, expected modelgate ${command.example}`);
  }
  return checked;
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
      if (value === undefined) throw new UsageError(`Missing ${name}, expected modelgate ${command.example}`);
      return [name, value];
    }),
  );
}
