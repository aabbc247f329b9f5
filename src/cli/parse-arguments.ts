import { parseArgs } from "node:util";
import { variables } from "../config/index.ts";
import { didYouMean } from "../sdk/did-you-mean.ts";
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
  const { help, json, ...flags } = parsed.values as Record<string, string | boolean | undefined>;
  const known = { command, json: json === true, help: help === true, group: undefined };
  if (help === true) return { ...known, flags: {}, args: {} };
  return { ...known, flags: requireFlags(flags, command), args: requireArgs(parsed.positionals, command) };
}

/** Splits off the flags; before the first flag are the command and its arguments. */
function splitWords(argv: readonly string[]): { words: readonly string[]; rest: readonly string[] } {
  const first = argv.findIndex((word) => word.startsWith("-"));
  return first === -1 ? { words: argv, rest: [] } : { words: argv.slice(0, first), rest: argv.slice(first) };
}

function findCommand(words: readonly string[], commands: readonly Command[]): Command | undefined {
  return commands.find(({ name }) => name.split(" ").every((part, index) => words[index] === part));
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
    if (stray !== undefined)
      throw new UsageError(`Unknown flag ${stray}, expected a command first; see modelgate --help`);
    return { command: undefined, flags: {}, args: {}, json, help, group };
  }
  throw new UsageError(describeUnknownCommand(requested, commands, isGroup));
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
  const known = Object.fromEntries(
    Object.entries(command.flags).map(([name, { value }]) => [
      name,
      { type: value === "" ? ("boolean" as const) : ("string" as const) },
    ]),
  );
  try {
    const options = { ...known, ...commonFlags };
    const args = joinNegatives(argv, command);
    const parsed = parseArgs({ args, options, strict: true, allowPositionals: true, tokens: true });
    rejectDuplicates(parsed.tokens, command);
    return parsed;
  } catch (error) {
    if (error instanceof UsageError) throw error;
    throw new UsageError(describeFlagError(error, argv, command), { cause: error });
  }
}

/** Joins `--usd -5` to `--usd=-5`, because `parseArgs` rejects a separate value that starts with a dash. */
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

function rejectDuplicates(tokens: readonly { kind: string; name?: string }[], command: Command): void {
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

/** Replaces an error of `parseArgs` by a sentence that names the command and the remedy. */
function describeFlagError(error: unknown, argv: readonly string[], command: Command): string {
  const code = error instanceof Error && "code" in error ? error.code : undefined;
  const names = [...Object.keys(command.flags), "json", "help"];
  const written = argv.find((word) => word.startsWith("-") && word !== "-h" && !names.includes(getFlagName(word)));
  if (code === "ERR_PARSE_ARGS_UNKNOWN_OPTION" && written !== undefined) {
    const hint = getHint(getFlagName(written), names) ?? `see modelgate ${command.name} --help`;
    return `Unknown flag ${written.split("=")[0]} of ${command.name}, ${hint}`;
  }
  const bare = argv.find((word, index) => lacksValue(word, argv[index + 1], command));
  if (bare !== undefined) {
    const placeholder = command.flags[getFlagName(bare)]?.value;
    return `Flag ${bare} of ${command.name} has no value, expected ${bare} ${placeholder}`;
  }
  const withValue = argv.find((word) => /^--(json|help)=/.test(word));
  if (withValue !== undefined) return `Flag ${withValue.split("=")[0]} of ${command.name} takes no value`;
  const sentence = error instanceof Error ? error.message.split(/[.\n]/)[0] : String(error);
  return `Cannot read the flags of ${command.name}: ${sentence}`;
}

/** Users of other servers try `--port 80`; here it is an environment variable. */
function getHint(name: string, flags: readonly string[]): string | undefined {
  const variable = name.toUpperCase().replaceAll("-", "_");
  if (variables.includes(variable)) return `set the environment variable ${variable}`;
  const near = didYouMean(name, flags);
  return near === undefined ? undefined : `did you mean --${near}?`;
}

function lacksValue(word: string, next: string | undefined, command: Command): boolean {
  if (!word.startsWith("--") || word.includes("=") || !command.flags[getFlagName(word)]?.value) return false;
  return next === undefined || next.startsWith("-");
}

function getFlagName(word: string): string {
  return word.replace(/^-+/, "").split("=")[0] as string;
}
